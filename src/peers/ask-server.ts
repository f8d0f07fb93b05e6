import type { Clock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Downlink } from '../model/links.js'
import { type Answer, answerOf, failed, type Outcome } from '../model/outcome.js'

export interface AskLimit {
  readonly clock: Clock
  readonly timeoutMs: number
}

/** Sends a server a request of our own, and cancels it if the answer is late. Never rejects. */
export const askServer = (
  link: Downlink,
  method: string,
  params: JsonText | undefined,
  { clock, timeoutMs }: AskLimit,
): Promise<Answer> =>
  new Promise(resolve => {
    const timer = clock.after(timeoutMs, () => {
      call?.cancel('timed out')
      resolve(failed(new Fault('timeout', `no answer within ${Math.round(timeoutMs / 1000)} s`)))
    })
    const ended = (outcome: Outcome): void => {
      timer.cancel()
      resolve(answerOf(outcome))
    }
    let call: ReturnType<Downlink['call']> | undefined
    try {
      call = link.call({ method, params, wantsProgress: false }, { progress: () => undefined, ended })
    } catch (thrown) {
      ended(failed(Fault.from(thrown)))
    }
  })
