import { createHash } from 'node:crypto'
import type { Principal } from '../../../kernel/caller.js'
import { Fault } from '../../../kernel/faults.js'
import { randomId } from '../../../kernel/ids.js'
import { canonicalJson } from '../../../kernel/json/canonical.js'
import { EMPTY, type JsonText, withoutMembers } from '../../../kernel/json/text.js'
import type { CallTrace } from '../../../model/call-trace.js'
import type { Call } from '../../../model/links.js'
import type { SealedFacts, SealedState, Sealer } from './sealed-state.js'

/** Requests that may be answered with questions (basic/patterns/mrtr), and the members that identify them. */
const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  'tools/call': ['name', 'arguments'],
  'prompts/get': ['name', 'arguments'],
  'resources/read': ['uri'],
}

/** Longer texts are compared byte by byte: canonicalizing them would block the event loop. */
const SPELT_BYTES = 256 * 1024

/** The requests that may be answered with questions. */
export const ASKABLE: readonly string[] = Object.keys(SUBJECTS)

export const mayNeedInput = (method: string): boolean => Object.hasOwn(SUBJECTS, method)

/**
 * Identifies a request by base64url of SHA-256 over its name or URI and its arguments. Spelling and order do
 * not count up to 256 KiB; digits of numbers and repeated members do.
 */
export const requestDigest = (method: string, params: JsonText | undefined): string => {
  const subjects = SUBJECTS[method] ?? []
  return sha256(spelt(withoutMembers(params ?? EMPTY, at => !subjects.some(key => at.keyIs(key)))))
}

/** Identifies a question by base64url of SHA-256 over its method and params. */
export const questionHash = (method: string, params: JsonText | undefined): string =>
  sha256(`${method}\n`, params === undefined ? '' : spelt(params))

const spelt = (text: JsonText): string | Buffer => (text.length <= SPELT_BYTES ? canonicalJson(text) : text)

/** Identifies a principal without revealing it to a holder of the key. */
export const principalHash = (principal: Principal): string => sha256(principal)

const sha256 = (...parts: readonly (string | Buffer)[]): string => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('base64url')
}

/** The same message for every cause, so that existing states cannot be guessed (basic/patterns/mrtr). */
export const invalidState = (): Fault => new Fault('invalid-params', 'Invalid or expired requestState')

type Bound = Pick<Call, 'method' | 'params'> & {
  readonly trace?: CallTrace | undefined
  readonly client: Pick<Call['client'], 'principal'>
}

/** Binds the states that clients carry to request and principal (basic/patterns/mrtr, "Security"). */
export class RequestStates {
  /** Identifies this process in its states. */
  readonly replica: string
  readonly #sealer: Sealer
  /** Cached: a digest takes time in proportion to the arguments, and is needed once per round. */
  readonly #digests = new WeakMap<JsonText, string>()

  constructor(sealer: Sealer, replica = randomId()) {
    this.#sealer = sealer
    this.replica = replica
  }

  /** Seals a state for a call. Throws a Fault `too-large`. */
  seal(call: Bound, server: string, facts: SealedFacts, ttlMs: number): string {
    const { method, trace } = call
    const binding = {
      server,
      method,
      digest: this.#digest(call),
      principal: principalHash(call.client.principal),
      ...(trace?.isSampled === true && { span: trace.origin.context }),
    }
    return this.#sealer.seal({ ...binding, ...facts }, ttlMs)
  }

  /** Opens the state of a retry for any server. Throws a Fault for another request's state. */
  open(call: Bound, text: string | undefined): SealedState {
    const state = text === undefined ? undefined : this.#sealer.open(text)
    const isSame =
      state !== undefined &&
      state.method === call.method &&
      state.principal === principalHash(call.client.principal) &&
      state.digest === this.#digest(call)
    if (!isSame) throw invalidState()
    if (state.span !== undefined) call.trace?.linkTo(state.span)
    return state
  }

  /**
   * Returns the process that holds the call of a state, or its server program; undefined if any process will
   * do, or if the state is foreign.
   */
  waitsIn(text: string): string | undefined {
    const state = this.#sealer.open(text)
    return state !== undefined && 'replica' in state ? state.replica : undefined
  }

  #digest({ method, params }: Bound): string {
    const known = params && this.#digests.get(params)
    if (known !== undefined) return known
    const digest = requestDigest(method, params)
    if (params !== undefined) this.#digests.set(params, digest)
    return digest
  }
}
