import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Fault } from '../../../kernel/faults.js'
import {
  arrayText,
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  readJson,
  stringOf,
  textMember,
  textOf,
  valueOf,
} from '../../../kernel/json/text.js'
import type { SpanContext } from '../../../model/call-trace.js'

/** What every state is bound to: it counts only for the same request of the same principal. */
interface Binding {
  readonly server: string
  readonly method: string
  readonly digest: string
  readonly principal: string
  /** Where the request was traced that is to be made again. */
  readonly span?: SpanContext | undefined
}

/** Answers of a client, each by the hash of its question. */
export type History = readonly (readonly [question: string, answer: JsonText])[]

export interface AskedQuestion {
  readonly key: string
  readonly method: string
  readonly question: string
}

/** A call that waits in this process, or another, for answers to its server's questions. */
interface ParkFacts {
  readonly kind: 'park'
  readonly parkId: string
  readonly replica: string
  readonly round: number
  /** What this round asks; like the history, only where the call may be run again if it is lost. */
  readonly asked: readonly AskedQuestion[]
  readonly history: History
}

/** A request that a server made outside any call, put to the client before its own request is sent on. */
interface PreFacts {
  readonly kind: 'pre'
  readonly parkId: string
  readonly replica: string
}

/** A modern server's own state on its way through the client. */
interface RelayFacts {
  readonly kind: 'relay'
  readonly inner: JsonText | undefined
  /** Of a program, which may have made its state for itself alone. */
  readonly replica?: string
}

/** URL elicitations that the user was sent to before the call is made again. */
interface UrlFacts {
  readonly kind: 'url'
  readonly elicitations: readonly string[]
}

/** A page of ours on which the user was to sign in before the call is made again. */
interface SignInFacts {
  readonly kind: 'sign-in'
  readonly link: string
}

/** A question of our own, for the folder that the client works in; of no server. */
interface RootsFacts {
  readonly kind: 'roots'
}

export type StateFacts = ParkFacts | PreFacts | RelayFacts | UrlFacts | SignInFacts | RootsFacts

export type SealedState = Binding & StateFacts
export type StateOf<K extends StateFacts['kind']> = SealedState & { readonly kind: K }

/** A key of 32 bytes, under the name that states carry. */
export interface SealKey {
  readonly kid: string
  readonly key: Uint8Array
}

export interface Sealer {
  /** Seals a state for `ttlMs`, to the second. Throws a Fault `too-large` for what `open` would not take. */
  seal(state: SealedState, ttlMs: number): string
  /** Undefined for whatever is not ours, was changed or has expired: nobody learns which. */
  open(text: string): SealedState | undefined
}

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
 * Makes a sealer over AES-256-GCM: `v1.<kid>.<base64url(nonce ‖ ciphertext ‖ tag)>`. The first key seals, all
 * of them open. `nowMs` is the wall clock: states outlive the process.
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
    seal(state, ttlMs) {
      const plain = encodeState(state, options.nowMs() + ttlMs)
      if (plain.length > PLAIN_MAX_BYTES) throw new Fault('too-large', 'The request state is too large')
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(GCM, first.key, nonce, { authTagLength: TAG_BYTES }).setAAD(AAD)
      const body = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
      return `${VERSION}.${first.kid}.${body.toString('base64url')}`
    },
    open(text) {
      const plain = decipher(text, keys)
      if (plain === undefined || options.nowMs() >= expiryOf(plain)) return undefined
      return decodeState(plain)
    },
  }
}

const decipher = (text: string, keys: ReadonlyMap<string, Buffer>): JsonText | undefined => {
  if (text.length > TEXT_MAX_CHARS) return undefined
  const [version, kid = '', encoded = '', ...more] = text.split('.')
  const key = keys.get(kid)
  const body = Buffer.from(encoded, 'base64url')
  if (version !== VERSION || key === undefined || more.length > 0) return undefined
  // The decoder ignores foreign characters and the unused bits of the last one.
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

const encodeState = (state: SealedState, expiresAtMs: number): JsonText =>
  objectText([
    ['k', textOf(state.kind)],
    ['sv', textOf(state.server)],
    ['m', textOf(state.method)],
    ['d', textOf(state.digest)],
    ['p', textOf(state.principal)],
    ['x', textOf(Math.ceil(expiresAtMs / 1000))],
    ...(state.span === undefined ? [] : [['t', textOf(spanText(state.span))] as const]),
    ...membersOfKind(state),
  ])

const membersOfKind = (state: StateFacts): readonly (readonly [string, JsonText])[] => {
  switch (state.kind) {
    case 'park':
      return [
        ...membersOfPark(state),
        ['r', textOf(state.round)],
        ...listMember(
          'q',
          state.asked.map(({ key, method, question }) => textOf([key, method, question])),
        ),
        ...listMember(
          'h',
          state.history.map(([question, answer]) => arrayText([textOf(question), answer])),
        ),
      ]
    case 'pre':
      return membersOfPark(state)
    case 'relay':
      return membersOfRelay(state)
    case 'url':
      return [['e', textOf(state.elicitations)]]
    case 'sign-in':
      return [['l', textOf(state.link)]]
    case 'roots':
      return []
  }
}

const membersOfRelay = ({ inner, replica }: RelayFacts): readonly (readonly [string, JsonText])[] => [
  ...(inner === undefined ? [] : [['s', inner] as const]),
  ...(replica === undefined ? [] : [['i', textOf(replica)] as const]),
]

const membersOfPark = (state: ParkFacts | PreFacts): readonly (readonly [string, JsonText])[] => [
  ['id', textOf(state.parkId)],
  ['i', textOf(state.replica)],
]

const listMember = (key: string, elements: readonly JsonText[]): readonly (readonly [string, JsonText])[] =>
  elements.length === 0 ? [] : [[key, arrayText(elements)]]

/** It was sealed by us, but perhaps by another version. */
const decodeState = (text: JsonText): SealedState | undefined => {
  const binding = bindingOf(text)
  const facts = factsOf(text)
  return binding && facts && { ...binding, ...facts }
}

const factsOf = (text: JsonText): StateFacts | undefined => {
  const kind = textMember(text, 'k') ?? ''
  switch (kind) {
    case 'park': {
      const park = parkOf(text)
      const round = numberOf(memberOf(text, 'r'))
      if (park === undefined || round === undefined) return undefined
      return {
        kind,
        ...park,
        round,
        asked: askedOf(listOf(text, 'q')),
        history: historyOf(listOf(text, 'h')),
      }
    }
    case 'pre': {
      const park = parkOf(text)
      return park && { kind, ...park }
    }
    case 'relay':
      return relayOf(text)
    case 'url':
      return { kind, elicitations: stringsOf(listOf(text, 'e')) }
    case 'sign-in':
      return { kind, link: textMember(text, 'l') ?? '' }
    case 'roots':
      return { kind }
    default:
      return undefined
  }
}

const bindingOf = (text: JsonText): Binding | undefined => {
  const [server, method, digest, principal] = ['sv', 'm', 'd', 'p'].map(key => textMember(text, key))
  if (server === undefined || method === undefined || digest === undefined) return undefined
  if (principal === undefined) return undefined
  return { server, method, digest, principal, span: spanOf(textMember(text, 't')) }
}

/** The 24 bytes of its ids. */
const spanText = ({ traceId, spanId }: SpanContext): string =>
  Buffer.from(traceId + spanId, 'hex').toString('base64url')

const spanOf = (text: string | undefined): SpanContext | undefined => {
  const ids = text && Buffer.from(text, 'base64url').toString('hex')
  return ids?.length === 48 ? { traceId: ids.slice(0, 32), spanId: ids.slice(32), flags: 1 } : undefined
}

/** Wall clock; the past if absent. */
const expiryOf = (text: JsonText): number => (numberOf(memberOf(text, 'x')) ?? 0) * 1000

const relayOf = (text: JsonText): RelayFacts => {
  const replica = textMember(text, 'i')
  return { kind: 'relay', inner: memberOf(text, 's'), ...(replica !== undefined && { replica }) }
}

const parkOf = (text: JsonText): Pick<ParkFacts, 'parkId' | 'replica'> | undefined => {
  const [parkId, replica] = ['id', 'i'].map(key => textMember(text, key))
  return parkId === undefined || replica === undefined ? undefined : { parkId, replica }
}

const askedOf = (entries: readonly JsonText[]): AskedQuestion[] =>
  entries.flatMap(entry => {
    const [key, method, question] = stringsOf([...elementsOf(entry)])
    return key === undefined || method === undefined || question === undefined
      ? []
      : [{ key, method, question }]
  })

const historyOf = (entries: readonly JsonText[]): History =>
  entries.flatMap(entry => {
    const [hash, answer] = elementsOf(entry)
    const question = stringOf(hash)
    return question === undefined || answer === undefined ? [] : [[question, answer] as const]
  })

const listOf = (text: JsonText, key: string): readonly JsonText[] => [
  ...elementsOf(memberOf(text, key) ?? text),
]

const stringsOf = (texts: readonly JsonText[]): string[] => texts.flatMap(text => stringOf(text) ?? [])

const numberOf = (text: JsonText | undefined): number | undefined =>
  text !== undefined && kindOf(text) === 'number' ? Number(valueOf(text)) : undefined
