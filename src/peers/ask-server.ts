import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Downlink } from '../model/links.js'
import { type Answer, answerOf, failed, type Outcome } from '../model/outcome.js'
import type { ClientCapabilities } from '../model/peer.js'
import type { OwnPeerRequest } from './own-requests.js'

export interface AskOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Counts the request until the server is done with it. */
  readonly own?: OwnPeerRequest | undefined
  /** The capabilities declared on a request that serves clients with equal declarations. */
  readonly capabilities?: ClientCapabilities | undefined
}

/** Sends a request of the proxy itself, and cancels it on timeout. Never rejects. */
export const askServer = async (
  link: Pick<Downlink, 'call'>,
  method: string,
  params: JsonText | undefined,
  { clock, timeoutMs, own, capabilities }: AskOptions,
): Promise<Answer> => {
  const answered = new Deferred<Answer>()
  const sink = {
    progress: () => undefined,
    ended: (outcome: Outcome) => {
      own?.ended()
      answered.resolve(answerOf(outcome))
    },
  }
  own?.began()
  try {
    const requester = capabilities && { capabilities, logLevel: undefined }
    const call = link.call({ method, params, wantsProgress: false, requester }, sink)
    const answer = await within(answered.promise, { clock, ms: timeoutMs })
    if (answer !== undefined) return answer
    call.cancel('timed out', own?.cancelled(clock.nowMs()))
    return failed(new Fault('timeout', `no answer within ${Math.round(timeoutMs / 1000)} s`))
  } catch (thrown) {
    own?.ended()
    return failed(Fault.from(thrown))
  }
}
