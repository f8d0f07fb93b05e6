import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Fault } from '../kernel/faults.js'
import {
  arrayText,
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  readJson,
  stringOf,
  textOf,
  valueOf,
} from '../kernel/json-text.js'

/** What every state is bound to: a retry counts only if it is the same request of the same principal. */
export interface Binding {
  /** Alias of the server that the request went to. */
  readonly server: string
  readonly method: string
  /** `requestDigest` of the request as the client sent it. */
  readonly digest: string
  /** `principalHash` of who sent it. */
  readonly principal: string
}

interface Bound extends Binding {
  /** Wall clock. Kept to the second, rounded up. */
  readonly expiresAtMs: number
}

/** An answer that a client gave to a question, by the hash of the question. */
type History = readonly (readonly [question: string, answer: JsonText])[]

/** A call that waits in this process, or another, for answers to its server's questions. */
interface ParkState extends Bound {
  readonly kind: 'park'
  readonly parkId: string
  /** Which process holds it. */
  readonly replica: string
  readonly round: number
  /** Only where the call may be run again if the park is gone; left out above `HISTORY_MAX_BYTES`. */
  readonly history: History
}

/** A question that a server asked when nothing was under way, put to the client before its request is sent on. */
interface PreState extends Bound {
  readonly kind: 'pre'
  readonly parkId: string
  readonly replica: string
  readonly round: number
}

/** A modern server's own state on its way through the client: nothing of it is kept here. */
interface RelayState extends Bound {
  readonly kind: 'relay'
  /** The server's `requestState` as it came, byte for byte; undefined if it sent none. */
  readonly inner: JsonText | undefined
}

/** Pages that the user was asked to visit before the call is made again. */
interface UrlState extends Bound {
  readonly kind: 'url'
  readonly elicitations: readonly string[]
}

/** What a `requestState` of ours says. */
export type SealedState = ParkState | PreState | RelayState | UrlState

/** A key under the name that states carry; 32 bytes. */
export interface SealKey {
  readonly kid: string
  readonly key: Uint8Array
}

/** Makes and reads the `requestState` that clients carry for us. */
export interface Sealer {
  /** Throws a Fault `too-large` for what `open` would not take. */
  seal(state: SealedState): string
  /** Undefined for whatever is not ours, was changed or has expired: nobody learns which. */
  open(text: string): SealedState | undefined
}

/** Above this an answer history is left out: it travels twice per round. */
const HISTORY_MAX_BYTES = 8 * 1024
/** A server's own state is the only part that can be large. */
const PLAIN_MAX_BYTES = 256 * 1024
const TEXT_MAX_CHARS = 360 * 1024

const VERSION = 'v1'
const AAD = Buffer.from('mcp-proxy/request-state/v1')
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
const GCM = 'aes-256-gcm'

/**
 * A sealer over AES-256-GCM: `v1.<kid>.<base64url(nonce ‖ ciphertext ‖ tag)>`. The first key seals, all of them open, so that
 * a key is replaced by putting the new one in front. `nowMs` is the wall clock: states outlive this process.
 */
export const createSealer = (options: {
  readonly keys: readonly SealKey[]
  readonly nowMs: () => number
}): Sealer => {
  const keys = new Map(options.keys.map(({ kid, key }) => [kid, Buffer.from(key)]))
  const [first] = options.keys
  if (first === undefined) throw new TypeError('A sealer needs a key')
  if (keys.size < options.keys.length) throw new TypeError('Two keys of a sealer have the same kid')
  for (const [kid, key] of keys) {
    if (!/^[\w-]{1,32}$/.test(kid)) throw new TypeError('A kid must be 1 to 32 of A-Z a-z 0-9 _ -')
    if (key.length !== KEY_BYTES) throw new TypeError(`A key must have ${KEY_BYTES} bytes`)
  }
  return {
    seal(state) {
      const plain = encodeState(state)
      if (plain.length > PLAIN_MAX_BYTES) throw new Fault('too-large', 'The request state is too large')
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(GCM, first.key, nonce, { authTagLength: TAG_BYTES }).setAAD(AAD)
      const body = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
      return `${VERSION}.${first.kid}.${body.toString('base64url')}`
    },
    open(text) {
      const plain = decipher(text, keys)
      const state = plain && decodeState(plain)
      return state !== undefined && options.nowMs() < state.expiresAtMs ? state : undefined
    },
  }
}

/** Whether a retry is the request that a state was made for, by the same principal at the same server. */
export const isBoundTo = (state: SealedState, binding: Binding): boolean =>
  state.server === binding.server &&
  state.method === binding.method &&
  state.digest === binding.digest &&
  state.principal === binding.principal

const decipher = (text: string, keys: ReadonlyMap<string, Buffer>): JsonText | undefined => {
  if (text.length > TEXT_MAX_CHARS) return undefined
  const [version, kid = '', encoded = '', ...more] = text.split('.')
  const key = keys.get(kid)
  const body = Buffer.from(encoded, 'base64url')
  if (version !== VERSION || key === undefined || more.length > 0) return undefined
  // The decoder overlooks foreign characters and the unused bits of the last one: a second spelling would open too.
  if (body.toString('base64url') !== encoded || body.length < NONCE_BYTES + TAG_BYTES) return undefined
  const end = body.length - TAG_BYTES
  try {
    const cipher = createDecipheriv(GCM, key, body.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    cipher.setAAD(AAD).setAuthTag(body.subarray(end))
    return readJson(Buffer.concat([cipher.update(body.subarray(NONCE_BYTES, end)), cipher.final()]))
  } catch {
    return undefined
  }
}

const encodeState = (state: SealedState): JsonText =>
  objectText([
    ['k', textOf(state.kind)],
    ['sv', textOf(state.server)],
    ['m', textOf(state.method)],
    ['d', textOf(state.digest)],
    ['p', textOf(state.principal)],
    ['x', textOf(Math.ceil(state.expiresAtMs / 1000))],
    ...membersOfKind(state),
  ])

const membersOfKind = (state: SealedState): readonly (readonly [string, JsonText])[] => {
  switch (state.kind) {
    case 'park':
      return [...membersOfPark(state), ...membersOfHistory(state.history)]
    case 'pre':
      return membersOfPark(state)
    case 'relay':
      return state.inner === undefined ? [] : [['s', state.inner]]
    case 'url':
      return [['e', textOf(state.elicitations)]]
  }
}

const membersOfPark = (state: ParkState | PreState): readonly (readonly [string, JsonText])[] => [
  ['id', textOf(state.parkId)],
  ['i', textOf(state.replica)],
  ['r', textOf(state.round)],
]

const membersOfHistory = (history: History): readonly (readonly [string, JsonText])[] => {
  if (history.length === 0) return []
  const text = arrayText(history.map(([question, answer]) => arrayText([textOf(question), answer])))
  return text.length > HISTORY_MAX_BYTES ? [] : [['h', text]]
}

/** It was sealed by us, but perhaps by another version of us. */
const decodeState = (text: JsonText): SealedState | undefined => {
  const bound = boundOf(text)
  const kind = stringOf(memberOf(text, 'k'))
  if (bound === undefined || !isStateKind(kind)) return undefined
  switch (kind) {
    case 'park': {
      const park = parkOf(text)
      return park && { kind, ...bound, ...park, history: historyOf(memberOf(text, 'h')) }
    }
    case 'pre': {
      const park = parkOf(text)
      return park && { kind, ...bound, ...park }
    }
    case 'relay':
      return { kind, ...bound, inner: memberOf(text, 's') }
    case 'url': {
      const ids = memberOf(text, 'e')
      return { kind, ...bound, elicitations: stringsOf(ids === undefined ? [] : elementsOf(ids)) }
    }
  }
}

const KINDS: ReadonlySet<string | undefined> = new Set(['park', 'pre', 'relay', 'url'])

const isStateKind = (kind: string | undefined): kind is SealedState['kind'] => KINDS.has(kind)

const boundOf = (text: JsonText): Bound | undefined => {
  const [server, method, digest, principal, ...more] = stringsOf(
    ['sv', 'm', 'd', 'p'].flatMap(key => memberOf(text, key) ?? []),
  )
  const seconds = numberOf(memberOf(text, 'x'))
  if (server === undefined || method === undefined || digest === undefined) return undefined
  if (principal === undefined || seconds === undefined || more.length > 0) return undefined
  return { server, method, digest, principal, expiresAtMs: seconds * 1000 }
}

const stringsOf = (texts: readonly JsonText[]): string[] => texts.flatMap(text => stringOf(text) ?? [])

const parkOf = (text: JsonText): Pick<ParkState, 'parkId' | 'replica' | 'round'> | undefined => {
  const parkId = stringOf(memberOf(text, 'id'))
  const replica = stringOf(memberOf(text, 'i'))
  const round = numberOf(memberOf(text, 'r'))
  if (parkId === undefined || replica === undefined || round === undefined) return undefined
  return { parkId, replica, round }
}

const historyOf = (text: JsonText | undefined): History =>
  (text === undefined ? [] : elementsOf(text)).flatMap(entry => {
    const [hash, answer] = elementsOf(entry)
    const question = stringOf(hash)
    return question === undefined || answer === undefined ? [] : [[question, answer] as const]
  })

const numberOf = (text: JsonText | undefined): number | undefined =>
  text !== undefined && kindOf(text) === 'number' ? Number(valueOf(text)) : undefined
