import { Fault } from '../../kernel/faults.js'
import {
  EMPTY,
  isEmpty,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  objectText,
  repeatedKey,
  some,
  stringOf,
  textMember,
  textOf,
  withAt,
  withMember,
  withMembers,
} from '../../kernel/json/text.js'
import { declaredMembers, TASKS_EXTENSION } from '../../model/extensions.js'
import type { Request } from '../../model/links.js'
import { isLogLevel, type McpLogLevel } from '../../model/log-level.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../model/peer.js'
import { decodeClientCapabilities, INFO_BYTES } from '../../rpc/capabilities.js'
import { tokenIn } from '../../rpc/progress-token.js'
import { withMeta } from '../../wire/jsonrpc.js'
import { META, MODERN_REVISION } from '../shared/protocol.js'
import { remembered } from '../shared/remembered.js'
import { withoutEnvelope, withoutReservedMeta } from './project/meta.js'

/** The sender's description in a request (basic, "Per-request protocol fields"). */
export interface Envelope {
  readonly capabilities: ClientCapabilities
  /** The `ClientCapabilities`, unchanged, including extensions. */
  readonly declared: JsonText
  /** The client's `Implementation` object, which is optional. */
  readonly info: JsonText | undefined
  /** Undefined: no log messages at all. */
  readonly logLevel: McpLogLevel | undefined
  readonly token: JsonText | undefined
  /** True if `_meta` holds nothing else. */
  readonly isAll: boolean
  /** Distinguishes senders by their exact description. */
  readonly sender: string
}

/** The result of reading an envelope: itself, or the reason why it is malformed. */
export type EnvelopeCheck =
  | { readonly is: 'fine'; readonly envelope: Envelope }
  | { readonly is: 'malformed'; readonly fault: Fault }

const REQUIRED = [META.protocolVersion, META.clientCapabilities]
const KEYS: ReadonlySet<string> = new Set(Object.values(META))

/** The version named in `_meta`. */
interface Claim {
  /** True if keys are repeated, so that the proxy and a server might each read a different one. */
  readonly isRepeated: boolean
  readonly claim: string | undefined
}

/** Caches envelopes, which clients repeat in each request, unless they contain a progress token. */
const rememberedMeta = <T>(read: (meta: JsonText) => T, isKept: (result: T) => boolean = () => true) =>
  remembered(read, (result, meta) => isKept(result) && memberOf(meta, 'progressToken') === undefined)

const claimIn = rememberedMeta(
  (meta): Claim => ({
    isRepeated: repeatedKey(meta, KEYS) !== undefined,
    claim: textMember(meta, META.protocolVersion),
  }),
)

/** A shorter `_meta` cannot contain any of the keys, which escapes would only lengthen. */
const LEAST_BYTES = Math.min(...[...KEYS].map(key => `{"${key}":0}`.length))
const NO_CLAIM: Claim = { isRepeated: false, claim: undefined }

/** Returns the version that a message claims in its `_meta`. */
export const readClaim = (meta: JsonText = EMPTY): Claim =>
  meta.length < LEAST_BYTES ? NO_CLAIM : claimIn(meta)

/**
 * Parses the envelope in the `_meta` of a modern request. The fault is `invalid-params` and names the invalid
 * keys.
 */
export const readEnvelope = (meta: JsonText = EMPTY): EnvelopeCheck => readMeta(meta)

const checkMeta = (meta: JsonText): EnvelopeCheck => {
  const problem = problemOf(meta)
  if (problem !== undefined) return { is: 'malformed', fault: new Fault('invalid-params', problem) }
  const declared = memberOf(meta, META.clientCapabilities) ?? EMPTY
  const info = memberOf(meta, META.clientInfo)
  const level = textMember(meta, META.logLevel)
  return {
    is: 'fine',
    envelope: {
      capabilities: capabilitiesOf(declared),
      declared,
      info,
      logLevel: level !== undefined && isLogLevel(level) ? level : undefined,
      token: tokenIn(meta),
      isAll: !some(membersOf(meta), ({ key }) => !KEYS.has(key)),
      // JSON contains no NUL, so this is unambiguous.
      sender: `${declared.toString('latin1')}\0${info?.toString('latin1') ?? ''}`,
    },
  }
}

const readMeta = rememberedMeta(checkMeta, check => check.is === 'fine')

/**
 * Adapts the capabilities to this revision: it has no notification of changed roots (client/roots), and its
 * servers get an `elicitation: {}` unchanged.
 */
const capabilitiesOf = (declared: JsonText): ClientCapabilities => {
  const { roots, elicitation, ...others } = decodeClientCapabilities(declared, MODERN_REVISION)
  const asked = memberOf(declared, 'elicitation')
  const isBare = asked !== undefined && kindOf(asked) === 'object' && isEmpty(asked)
  return {
    ...others,
    roots: roots && { listChanged: false },
    elicitation: elicitation && isBare ? { ...elicitation, isBare } : elicitation,
  }
}

const problemOf = (meta: JsonText): string | undefined => {
  const missing = REQUIRED.filter(key => memberOf(meta, key) === undefined)
  if (missing.length > 0) return `Missing _meta ${missing.join(', ')}`
  const twice = repeatedKey(meta, KEYS)
  if (twice !== undefined) return `The member params._meta.${twice} is repeated`
  if (textMember(meta, META.protocolVersion) === undefined)
    return `_meta ${META.protocolVersion} must be text`
  const capabilities = memberOf(meta, META.clientCapabilities)
  if (capabilities === undefined || kindOf(capabilities) !== 'object') {
    return `_meta ${META.clientCapabilities} must be an object`
  }
  if (capabilities.length > INFO_BYTES) return tooLong(META.clientCapabilities)
  const info = memberOf(meta, META.clientInfo)
  const infoProblem = info && problemOfInfo(info)
  if (infoProblem !== undefined) return `_meta ${META.clientInfo} ${infoProblem}`
  const level = memberOf(meta, META.logLevel)
  return level === undefined || isLogLevel(stringOf(level) ?? '')
    ? undefined
    : `_meta ${META.logLevel} must be a log level`
}

const TOO_LONG = `must not be longer than ${INFO_BYTES} bytes`
const tooLong = (key: string): string => `_meta ${key} ${TOO_LONG}`

/** Returns the reason why a value is not an `Implementation` (schema); undefined if it is valid. */
const problemOfInfo = (info: JsonText): string | undefined => {
  if (kindOf(info) !== 'object') return 'must be an object'
  if (info.length > INFO_BYTES) return TOO_LONG
  if (textMember(info, 'name') === undefined || textMember(info, 'version') === undefined) {
    return 'must have a name and a version'
  }
  for (const key of ['title', 'description', 'websiteUrl']) {
    const value = memberOf(info, key)
    if (value !== undefined && kindOf(value) !== 'string') return `must have text as its ${key}`
  }
  const icons = memberOf(info, 'icons')
  return icons !== undefined && kindOf(icons) !== 'array' ? 'must have a list of icons' : undefined
}

/** The envelope of a request to a modern server. */
interface EnvelopeFacts {
  readonly version: string
  readonly capabilities: ClientCapabilities
  /** An `Implementation` object: the client's or ours. */
  readonly clientInfo?: JsonText | undefined
  readonly logLevel?: McpLogLevel | undefined
  /** True if a task may replace the result (SEP-2663); otherwise servers must not create one. */
  readonly followsTasks?: boolean | undefined
  /** True for an unknown method: reserved keys outside the envelope may belong to an extension. */
  readonly isPassed?: boolean | undefined
}

/**
 * Makes request params for a modern server: our envelope replaces the sender's, which never crosses a hop.
 *
 * @internal
 */
export const withEnvelope = (params: JsonText | undefined, facts: EnvelopeFacts): JsonText => {
  const bare = (facts.isPassed === true ? withoutEnvelope : withoutReservedMeta)(params ?? EMPTY)
  const meta = memberOf(bare, '_meta')
  const isObject = meta !== undefined && kindOf(meta) === 'object'
  return withMember(bare, '_meta', isObject ? withMembers(meta, membersFor(facts)) : envelopeFor(facts))
}

const membersFor = (facts: EnvelopeFacts): (readonly [string, JsonText])[] => {
  const { version, capabilities, clientInfo, logLevel, followsTasks } = facts
  return [
    [META.protocolVersion, textOf(version)],
    ...(clientInfo === undefined ? [] : [[META.clientInfo, clientInfo] as const]),
    [META.clientCapabilities, encodeClientCapabilities(capabilities, followsTasks)],
    ...(logLevel === undefined ? [] : [[META.logLevel, textOf(logLevel)] as const]),
  ]
}

/** The last envelope for these capabilities: encoding it again would take longer than the rest of a call. */
const lastFor = new WeakMap<ClientCapabilities, { readonly facts: EnvelopeFacts; readonly text: JsonText }>()

const envelopeFor = (facts: EnvelopeFacts): JsonText => {
  const last = lastFor.get(facts.capabilities)
  if (last !== undefined && isSame(last.facts, facts)) return last.text
  const text = objectText(membersFor(facts))
  lastFor.set(facts.capabilities, { facts, text })
  return text
}

const isSame = (one: EnvelopeFacts, other: EnvelopeFacts): boolean =>
  one.version === other.version &&
  one.clientInfo === other.clientInfo &&
  one.logLevel === other.logLevel &&
  one.followsTasks === other.followsTasks

/** Encodes the `ClientCapabilities` of an envelope: the client's, and those added by the proxy. */
const encodeClientCapabilities = (
  { roots, sampling, elicitation, declared }: ClientCapabilities,
  followsTasks = false,
): JsonText => {
  const known = textOf({
    ...(roots && { roots: {} }),
    ...(sampling && {
      sampling: { ...(sampling.context && { context: {} }), ...(sampling.tools && { tools: {} }) },
    }),
    ...(elicitation && { elicitation: encodeElicitation(elicitation) }),
  })
  const whole =
    declared === undefined ? known : withMembers(known, declaredMembers(declared, MODERN_REVISION))
  const isAdded = followsTasks && declared?.extensions.has(TASKS_EXTENSION) !== true
  return isAdded ? withAt(whole, ['extensions', TASKS_EXTENSION], EMPTY) : whole
}

const encodeElicitation = ({ isBare, form, url }: NonNullable<ClientCapabilities['elicitation']>): object =>
  isBare ? {} : { ...(form && { form: {} }), ...(url && { url: {} }) }

/** Makes request params, for a client's request or our own; `identity` is our `Implementation` object. */
export const requestParams = (
  params: JsonText | undefined,
  identity: JsonText,
  {
    requester,
    followsTasks,
    isBare,
    isPassed,
  }: Pick<Request, 'requester' | 'followsTasks' | 'isBare' | 'isPassed'> = {},
): JsonText => {
  const facts = {
    version: MODERN_REVISION,
    capabilities: requester?.capabilities ?? NO_CAPABILITIES,
    clientInfo: identity,
    logLevel: requester?.logLevel,
    followsTasks,
    isPassed,
  }
  return isBare === true && params !== undefined
    ? withMeta(params, envelopeFor(facts))
    : withEnvelope(params, facts)
}

/**
 * Makes the params of `server/discover` for a version of this era; `identity` is our `Implementation` object,
 * and `capabilities` those of the clients that the connection serves.
 */
export const discoverParams = (
  version: string,
  identity: JsonText,
  capabilities: ClientCapabilities = NO_CAPABILITIES,
): JsonText => withEnvelope(undefined, { version, capabilities, clientInfo: identity })
