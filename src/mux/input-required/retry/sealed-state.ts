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
import { type SealKey, TextSeal } from '../../../kernel/secrets/text-seal.js'
import type { SpanContext } from '../../../model/call-trace.js'
import { openTask, type SealedTask, sealTask } from './sealed-task.js'

/** Binds a state to one request of one principal. */
interface Binding {
  readonly server: string
  readonly method: string
  readonly digest: string
  readonly principal: string
  /** Trace context of the request that will be retried. */
  readonly span?: SpanContext | undefined
}

/** A client's answers, each by the hash of its question. */
export type History = readonly (readonly [question: string, answer: JsonText])[]

export interface AskedQuestion {
  readonly key: string
  readonly method: string
  readonly question: string
}

/** A call that waits in this or another process for answers to its server's questions. */
interface ParkFacts {
  readonly kind: 'park'
  readonly parkId: string
  readonly replica: string
  readonly round: number
  /** The questions of this round; like the history, only if the call may run again after a loss. */
  readonly asked: readonly AskedQuestion[]
  readonly history: History
}

/** A server request outside any call, sent to the client before its own request is sent on. */
interface PreFacts {
  readonly kind: 'pre'
  readonly parkId: string
  readonly replica: string
}

/** A modern server's own state, relayed through the client. */
export interface RelayFacts {
  readonly kind: 'relay'
  readonly inner: JsonText | undefined
  /** Set for a program, whose state may be valid only in that process, and for an approved call. */
  readonly replica?: string
  readonly approval?: Approved | undefined
}

/** The approval of a person, in the process that asked; the nonce works once, for the next request. */
interface Approved {
  readonly id: string
  readonly nonce?: string | undefined
}

/** A question of the proxy whether a call may be made. */
interface ApprovalFacts {
  readonly kind: 'approval'
  readonly approval: Approved
  readonly replica: string
}

/** URL elicitations that the user must visit before the call is retried. */
interface UrlFacts {
  readonly kind: 'url'
  readonly elicitations: readonly string[]
  /** Set for an approved call. */
  readonly replica?: string
  readonly approval?: Approved | undefined
}

/** A login page of the proxy that the user must visit before the call is retried. */
interface SignInFacts {
  readonly kind: 'sign-in'
  readonly link: string
}

/** The proxy's own request for the client's roots, without a server. */
interface RootsFacts {
  readonly kind: 'roots'
}

export type SealedFacts =
  | ParkFacts
  | PreFacts
  | RelayFacts
  | UrlFacts
  | SignInFacts
  | RootsFacts
  | ApprovalFacts

export type SealedState = Binding & SealedFacts
export type StateOf<K extends SealedFacts['kind']> = SealedState & { readonly kind: K }

export interface Sealer {
  /**
   * Seals a state for `ttlMs`, rounded to seconds. Throws a Fault `too-large` for states that `open` would
   * reject.
   */
  seal(state: SealedState, ttlMs: number): string
  /** Opens a state; undefined if it is foreign, modified or expired. The cause is not revealed. */
  open(text: string): SealedState | undefined
  /** Seals the id of a task, without an expiry. Throws a Fault if the server's own id is too long. */
  sealTask(task: SealedTask): string
  /** Opens the id of a task; undefined if it is foreign or modified. */
  openTask(text: string): SealedTask | undefined
}

/** Only a server's own state can be large. */
const PLAIN_MAX_BYTES = 256 * 1024
const TEXT_MAX_CHARS = 360 * 1024

/** Creates a sealer. `nowMs` is the wall clock, since states outlive the process. */
export const createSealer = (options: {
  readonly keys: readonly SealKey[]
  readonly nowMs: () => number
}): Sealer => {
  const seal = new TextSeal(options.keys, 'request-state')
  return {
    seal(state, ttlMs) {
      const plain = encodeState(state, options.nowMs() + ttlMs)
      if (plain.length > PLAIN_MAX_BYTES) throw new Fault('too-large', 'The request state is too large')
      return seal.seal(plain)
    },
    open(text) {
      const plain = text.length > TEXT_MAX_CHARS ? undefined : readable(seal.open(text))
      if (plain === undefined || options.nowMs() >= expiryOf(plain)) return undefined
      return decodeState(plain)
    },
    sealTask: task => sealTask(seal, task),
    openTask: text => openTask(seal, text, readable),
  }
}

/** Text sealed by another version may not be JSON. */
const readable = (plain: Buffer | undefined): JsonText | undefined => {
  try {
    return plain && readJson(plain)
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

const membersOfKind = (state: SealedFacts): readonly (readonly [string, JsonText])[] => {
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
      return [['e', textOf(state.elicitations)], ...membersOfApproval(state)]
    case 'approval':
      return membersOfApproval(state)
    case 'sign-in':
      return [['l', textOf(state.link)]]
    case 'roots':
      return []
  }
}

const membersOfRelay = (state: RelayFacts): readonly (readonly [string, JsonText])[] => [
  ...(state.inner === undefined ? [] : [['s', state.inner] as const]),
  ...membersOfApproval(state),
]

const membersOfApproval = ({
  replica,
  approval,
}: Pick<RelayFacts, 'replica' | 'approval'>): readonly (readonly [string, JsonText])[] => [
  ...(replica === undefined ? [] : [['i', textOf(replica)] as const]),
  ...(approval === undefined ? [] : [['a', textOf([approval.id, approval.nonce])] as const]),
]

const membersOfPark = (state: ParkFacts | PreFacts): readonly (readonly [string, JsonText])[] => [
  ['id', textOf(state.parkId)],
  ['i', textOf(state.replica)],
]

const listMember = (key: string, elements: readonly JsonText[]): readonly (readonly [string, JsonText])[] =>
  elements.length === 0 ? [] : [[key, arrayText(elements)]]

/** The proxy sealed it, but perhaps in another version. */
const decodeState = (text: JsonText): SealedState | undefined => {
  const binding = bindingOf(text)
  const facts = factsOf(text)
  return binding && facts && { ...binding, ...facts }
}

const factsOf = (text: JsonText): SealedFacts | undefined => {
  const kind = textMember(text, 'k') ?? ''
  switch (kind) {
    case 'park':
      return parkFactsOf(text)
    case 'pre': {
      const park = parkOf(text)
      return park && { kind, ...park }
    }
    case 'relay':
      return relayOf(text)
    case 'url':
      return { kind, elicitations: stringsOf(listOf(text, 'e')), ...approvedIn(text) }
    case 'approval':
      return approvalOf(text)
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

/** The trace and span ids as 24 bytes. */
const spanText = ({ traceId, spanId }: SpanContext): string =>
  Buffer.from(traceId + spanId, 'hex').toString('base64url')

const spanOf = (text: string | undefined): SpanContext | undefined => {
  const ids = text && Buffer.from(text, 'base64url').toString('hex')
  return ids?.length === 48 ? { traceId: ids.slice(0, 32), spanId: ids.slice(32), flags: 1 } : undefined
}

/** Expiry on the wall clock; in the past if absent. */
const expiryOf = (text: JsonText): number => (numberOf(memberOf(text, 'x')) ?? 0) * 1000

const relayOf = (text: JsonText): RelayFacts => ({
  kind: 'relay',
  inner: memberOf(text, 's'),
  ...approvedIn(text),
})

const parkFactsOf = (text: JsonText): ParkFacts | undefined => {
  const park = parkOf(text)
  const round = numberOf(memberOf(text, 'r'))
  if (park === undefined || round === undefined) return undefined
  return {
    ...{ kind: 'park', ...park, round },
    asked: askedOf(listOf(text, 'q')),
    history: historyOf(listOf(text, 'h')),
  }
}

const approvalOf = (text: JsonText): ApprovalFacts | undefined => {
  const { approval, replica } = approvedIn(text)
  return approval && replica !== undefined ? { kind: 'approval', approval, replica } : undefined
}

const approvedIn = (text: JsonText): { readonly replica?: string; readonly approval?: Approved } => {
  const replica = textMember(text, 'i')
  const [id, nonce] = memberOf(text, 'a') === undefined ? [] : stringsOf(listOf(text, 'a'))
  return { ...(replica !== undefined && { replica }), ...(id !== undefined && { approval: { id, nonce } }) }
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

/** A retried request with the answers to questions (2026-07-28, basic/patterns/mrtr). */
export interface Retry {
  /** Undefined if the client sent answers without a state. */
  readonly state: SealedState | undefined
  readonly responses: JsonText | undefined
}
