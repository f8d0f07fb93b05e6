import type { Clock } from '../../kernel/async/clock.js'
import type { ByteAccount } from '../../kernel/byte-account.js'
import { type JsonText, textOf } from '../../kernel/json/text.js'
import type { ProjectedRequest, ServerRequest } from '../../model/links.js'
import type { InFlightCall } from '../calls/in-flight-call.js'
import { planAsIs, planRound, type RoundPlan } from '../input-required/rounds/input-rounds.js'
import type { InputSource, RoundLimits } from '../input-required/rounds/question-round.js'
import { ROUND_LIMITS } from '../input-required/rounds/round-driver.js'

interface ClientAsker {
  readonly clock: Clock
  readonly isShared: boolean
  ask(inFlight: InFlightCall, request: ServerRequest): void
}

/** A client that gets server requests in results has the whole call time to answer. */
const RETURNED_LIMITS: RoundLimits = { ...ROUND_LIMITS, roundMs: ROUND_LIMITS.totalMs }

/** Obtains input for one call by asking its client. */
export class CallInput implements InputSource {
  readonly server: string
  readonly clock: Clock
  readonly limits: RoundLimits
  readonly account: ByteAccount
  readonly #inFlight: InFlightCall
  readonly #asker: ClientAsker

  constructor(inFlight: InFlightCall, asker: ClientAsker) {
    const { server, bounds } = inFlight.connection
    this.server = server.name
    this.clock = asker.clock
    this.limits = inFlight.call.client.serverRequests === 'pushed' ? ROUND_LIMITS : RETURNED_LIMITS
    this.account = bounds.unread
    this.#inFlight = inFlight
    this.#asker = asker
  }

  plan(result: JsonText): RoundPlan {
    const { client } = this.#inFlight.call
    return client.serverRequests === 'pushed'
      ? planRound(result, this)
      : planAsIs(result, this.server, client.capabilities)
  }

  project(method: string, params: JsonText | undefined): ProjectedRequest {
    return this.#inFlight.call.client.project(method, params, this.#asker.isShared)
  }

  ask(request: ServerRequest): void {
    this.#asker.ask(this.#inFlight, request)
  }

  elicitationComplete(elicitationId: string): void {
    this.#inFlight.call.notify('notifications/elicitation/complete', textOf({ elicitationId }))
  }
}
