import { Fault } from '../../kernel/faults.js'
import {
  at,
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  ownText,
  stringOf,
  textMember,
  textOf,
  withoutMember,
} from '../../kernel/json/text.js'
import type { Welcome } from '../../model/links.js'
import type { Answer } from '../../model/outcome.js'
import type { ClientCapabilities, Identity, ServerFacts } from '../../model/peer.js'
import {
  isLegacyRevision,
  LEGACY_REVISIONS,
  type LegacyRevision,
  NEWEST_LEGACY,
} from '../../model/revision.js'
import {
  announcedIn,
  decodeClientCapabilities,
  encodeServerCapabilities,
  INFO_BYTES,
} from '../../rpc/capabilities.js'
import { shortName } from '../../secrets/mask.js'

// ── of a client ──

export interface InitializeParams {
  readonly revision: LegacyRevision
  readonly capabilities: ClientCapabilities
  readonly info: JsonText
}

/**
 * Reads the params of `initialize` (basic/lifecycle, "Initialization"). A known version is agreed to, any
 * other gets our newest as a counter-offer. Throws a Fault `invalid-params`.
 */
export const readInitialize = (params: JsonText | undefined): InitializeParams => {
  const version = params && textMember(params, 'protocolVersion')
  const capabilities = params && memberOf(params, 'capabilities')
  const info = params && memberOf(params, 'clientInfo')
  if (version === undefined) {
    throw new Fault('invalid-params', 'initialize: protocolVersion must be text', {
      data: { supported: [...LEGACY_REVISIONS].reverse() },
    })
  }
  if (capabilities === undefined || kindOf(capabilities) !== 'object') {
    throw new Fault('invalid-params', 'initialize: capabilities must be an object')
  }
  if (
    info === undefined ||
    textMember(info, 'name') === undefined ||
    textMember(info, 'version') === undefined
  ) {
    throw new Fault('invalid-params', 'initialize: clientInfo must have a name and a version')
  }
  if (info.length > INFO_BYTES) {
    throw new Fault('invalid-params', `initialize: clientInfo must not be longer than ${INFO_BYTES} bytes`)
  }
  const revision = isLegacyRevision(version) ? version : NEWEST_LEGACY
  return {
    revision,
    capabilities: forRevision(decodeClientCapabilities(capabilities), revision),
    info: ownText(info),
  }
}

/** Drops capabilities that the revision does not define; before 2025-11-25 elicitation has only forms. */
const forRevision = (capabilities: ClientCapabilities, revision: LegacyRevision): ClientCapabilities => {
  if (revision >= '2025-11-25') return capabilities
  const { sampling, elicitation } = capabilities
  const hasForms = elicitation !== undefined && revision >= '2025-06-18'
  return {
    ...capabilities,
    sampling: sampling && { ...sampling, tools: false },
    elicitation: hasForms ? { form: true, url: false } : undefined,
  }
}

/** The result of `initialize`, with `serverInfo` in the members that the client's revision knows. */
export const writeInitialize = (revision: LegacyRevision, welcome: Welcome, identity: Identity): JsonText => {
  return objectText([
    ['protocolVersion', textOf(revision)],
    ['capabilities', encodeServerCapabilities(welcome, revision)],
    ['serverInfo', ownInfo(welcome.own, revision) ?? textOf(forInfo(identity, revision))],
    ...(welcome.instructions === undefined ? [] : [['instructions', textOf(welcome.instructions)] as const]),
  ])
}

const forInfo = ({ name, version, title }: Identity, revision: LegacyRevision) =>
  revision >= '2025-06-18' ? { name, title, version } : { name, version }

/** Members of an `Implementation` that came with a later revision. */
const LATER_MEMBERS = [
  ['title', '2025-06-18'],
  ['description', '2025-11-25'],
  ['icons', '2025-11-25'],
  ['websiteUrl', '2025-11-25'],
] as const

/** The `serverInfo` of a server that is served as it is, in what the client's revision knows. */
const ownInfo = (own: ServerFacts | undefined, revision: LegacyRevision): JsonText | undefined => {
  if (own === undefined || textMember(own.info, 'name') === undefined) return undefined
  if (own.revision === revision) return own.info
  return LATER_MEMBERS.filter(([, since]) => revision < since).reduce(
    (info, [name]) => withoutMember(info, name),
    own.info,
  )
}

// ── to a server ──

/** What we send to a server in `initialize`. */
export interface ClientIntroduction {
  readonly capabilities: ClientCapabilities
  /** An `Implementation` object: ours, or the client's where the connection is that client's alone. */
  readonly clientInfo: JsonText
  /** The revision to offer; the server may counter with any other. */
  readonly offer: LegacyRevision
}

/** What is known about a legacy server once it answered the handshake. */
export interface LegacyFacts extends ServerFacts {
  readonly revision: LegacyRevision
}

/** The params of `initialize` for a server. */
export const initializeParams = (intro: ClientIntroduction, version: LegacyRevision): JsonText =>
  objectText([
    ['protocolVersion', textOf(version)],
    ['capabilities', encodeClientCapabilities(intro.capabilities)],
    ['clientInfo', intro.clientInfo],
  ])

/** `ClientCapabilities` for a legacy server: what the clients behind the connection support. */
const encodeClientCapabilities = (capabilities: ClientCapabilities): JsonText => {
  const { roots, sampling, elicitation } = capabilities
  return textOf({
    ...(roots && { roots: roots.listChanged ? { listChanged: true } : {} }),
    ...(sampling && {
      sampling: { ...(sampling.context && { context: {} }), ...(sampling.tools && { tools: {} }) },
    }),
    ...(elicitation && {
      elicitation: { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) },
    }),
  })
}

/** The newest revision of ours in the `data.supported` of an error (lifecycle, "Error Handling"). */
export const otherRevision = (answer: Answer, offered: LegacyRevision): LegacyRevision | undefined => {
  const supported = answer.kind === 'error' ? at(answer.error, 'data', 'supported') : undefined
  if (supported === undefined) return undefined
  let newest: LegacyRevision | undefined
  for (const element of elementsOf(supported)) {
    const version = stringOf(element)
    if (version === undefined || !isLegacyRevision(version) || version === offered) continue
    if (newest === undefined || version > newest) newest = version
  }
  return newest
}

const REVISION_CHARS = 64

/** A server chose a revision in `initialize` that we do not know. */
export class UnknownRevision extends Fault {
  constructor(revision: string) {
    const shown = shortName(revision, REVISION_CHARS)
    super('unavailable', `The server speaks protocol version ${shown}, which is not supported`)
  }
}

/** Reads the result of `initialize`. Throws the Fault of an answer that agrees on no revision of ours. */
export const readInitializeResult = (answer: Answer): LegacyFacts => {
  if (answer.kind === 'fault') throw answer.fault
  if (answer.kind === 'error') {
    const words = textMember(answer.error, 'message') ?? 'no reason given'
    throw new Fault('unavailable', `The server refused to initialize: ${words}`)
  }
  const { result } = answer
  const revision = textMember(result, 'protocolVersion')
  if (revision === undefined) throw new Fault('unavailable', 'The server named no protocol version')
  if (!isLegacyRevision(revision)) {
    throw new UnknownRevision(revision)
  }
  const { capabilities, ...said } = announcedIn(result)
  // 2024-11-05 has the method but no capability for it.
  const completions = capabilities.completions || (revision === '2024-11-05' && 'undeclared')
  return { revision, ...said, capabilities: { ...capabilities, completions } }
}
