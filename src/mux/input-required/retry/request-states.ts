import { Fault } from '../../../kernel/faults.js'
import { unguessableId } from '../../../kernel/ids.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { Call } from '../../../model/links.js'
import { principalHash, requestDigest } from './digests.js'
import type { SealedState, Sealer, StateFacts } from './sealed-state.js'

/** Every cause has the same words, so that nobody can find out which states exist (basic/patterns/mrtr, "Security"). */
export const invalidState = (): Fault => new Fault('invalid-params', 'Invalid or expired requestState')

/** A request as far as its state is bound to it. */
type Bound = Pick<Call, 'method' | 'params'> & { readonly client: Pick<Call['client'], 'principal'> }

/**
 * The states that clients carry for us from one request to the next: each counts only for the same request of the same
 * principal (2026-07-28, basic/patterns/mrtr, "Security").
 */
export class RequestStates {
  /** By which a state says that it was made in this process. */
  readonly replica = unguessableId()
  readonly #sealer: Sealer
  /** A digest costs as much as the arguments are long, and is wanted once per round. */
  readonly #digests = new WeakMap<JsonText, string>()

  constructor(sealer: Sealer) {
    this.#sealer = sealer
  }

  /** The state for a call that went to the server of this alias. Throws a Fault `too-large`. */
  seal(call: Bound, server: string, facts: StateFacts, ttlMs: number): string {
    const { method } = call
    const binding = {
      server,
      method,
      digest: this.#digest(call),
      principal: principalHash(call.client.principal),
    }
    return this.#sealer.seal({ ...binding, ...facts }, ttlMs)
  }

  /** What the state of a retry says; which server it goes to is left to be checked. Throws a Fault for any other. */
  open(call: Bound, text: string | undefined): SealedState {
    const state = text === undefined ? undefined : this.#sealer.open(text)
    const isSame =
      state !== undefined &&
      state.method === call.method &&
      state.principal === principalHash(call.client.principal) &&
      state.digest === this.#digest(call)
    if (!isSame) throw invalidState()
    return state
  }

  #digest({ method, params }: Bound): string {
    const known = params && this.#digests.get(params)
    if (known !== undefined) return known
    const digest = requestDigest(method, params)
    if (params !== undefined) this.#digests.set(params, digest)
    return digest
  }
}
