import { createHash } from 'node:crypto'
import { Fault } from '../../../kernel/faults.js'
import { unguessableId } from '../../../kernel/ids.js'
import { canonicalJson } from '../../../kernel/json/canonical.js'
import { type JsonText, rawText, withoutMembers } from '../../../kernel/json/text.js'
import type { Call } from '../../../model/links.js'
import type { Principal } from '../../../model/peer.js'
import type { SealedState, Sealer, StateFacts } from './sealed-state.js'

/** Requests that may be answered with a question (2026-07-28, basic/patterns/mrtr), and what says what they are about. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  'tools/call': ['name', 'arguments'],
  'prompts/get': ['name', 'arguments'],
  'resources/read': ['uri'],
}

/** Longer texts are the same only byte for byte: to write them in their one spelling would hold up everybody. */
const SPELT_BYTES = 256 * 1024
const NOTHING = rawText('{}')

/** Whether a request may be answered with a question. */
export const mayNeedInput = (method: string): boolean => Object.hasOwn(SUBJECTS, method)

/**
 * What a request is about, as base64url of SHA-256 over its name or uri and its arguments: a retry must have the same.
 * Spelling and order do not count up to 256 KiB, every digit of a number does, and so does a member that is there twice.
 */
export const requestDigest = (method: string, params: JsonText | undefined): string => {
  const subjects = SUBJECTS[method] ?? []
  return sha256(spelt(withoutMembers(params ?? NOTHING, at => !subjects.some(key => at.keyIs(key)))))
}

/** What a question is, as base64url of SHA-256 over its method and params: by it an earlier answer is found again. */
export const questionHash = (method: string, params: JsonText | undefined): string =>
  sha256(`${method}\n`, params === undefined ? '' : spelt(params))

const spelt = (text: JsonText): string | Buffer => (text.length <= SPELT_BYTES ? canonicalJson(text) : text)

/** A principal as it stands in what we seal: nobody who got hold of a key should read who our users are. */
export const principalHash = (principal: Principal): string => sha256(principal)

const sha256 = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url')
}

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
