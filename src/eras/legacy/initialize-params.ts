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
  withMembers,
  withoutMember,
} from '../../kernel/json/text.js'
import { shortName } from '../../kernel/secrets/mask.js'
import { declaredMembers } from '../../model/extensions.js'
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

// ── from a client ──

export interface InitializeParams {
  readonly revision: LegacyRevision
  readonly capabilities: ClientCapabilities
  readonly info: JsonText
}

/**
 * Parses the params of `initialize` (basic/lifecycle, "Initialization"). Agrees to a known version; any other
 * gets our newest as a counter-offer. Throws a Fault `invalid-params`.
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
    capabilities: forRevision(decodeClientCapabilities(capabilities, revision), revision),
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

/** Encodes the result of `initialize`, with the members of `serverInfo` that the client's revision knows. */
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

/** Members of an `Implementation` added by later revisions. */
const LATER_MEMBERS = [
  ['title', '2025-06-18'],
  ['description', '2025-11-25'],
  ['icons', '2025-11-25'],
  ['websiteUrl', '2025-11-25'],
] as const

/** Returns the `serverInfo` of a server that is exposed unchanged, in the client's revision. */
const ownInfo = (own: ServerFacts | undefined, revision: LegacyRevision): JsonText | undefined => {
  if (own === undefined || textMember(own.info, 'name') === undefined) return undefined
  if (own.revision === revision) return own.info
  return LATER_MEMBERS.filter(([, since]) => revision < since).reduce(
    (info, [name]) => withoutMember(info, name),
    own.info,
  )
}

// ── to a server ──

/** Our side of `initialize` with a server. */
export interface InitializeOptions {
  readonly capabilities: ClientCapabilities
  /** An `Implementation` object: ours, or the client's if the connection is dedicated to that client. */
  readonly clientInfo: JsonText
  /** The revision to offer; the server may counter with any other. */
  readonly offer: LegacyRevision
}

/** Facts about a legacy server from its handshake. */
export interface LegacyFacts extends ServerFacts {
  readonly revision: LegacyRevision
}

/** Encodes the params of `initialize` for a server. */
export const initializeParams = (options: InitializeOptions, version: LegacyRevision): JsonText =>
  objectText([
    ['protocolVersion', textOf(version)],
    ['capabilities', encodeClientCapabilities(options.capabilities, version)],
    ['clientInfo', options.clientInfo],
  ])

/** Encodes `ClientCapabilities` for a legacy server: from the clients behind the connection. */
const encodeClientCapabilities = (capabilities: ClientCapabilities, version: LegacyRevision): JsonText => {
  const { roots, sampling, elicitation, declared } = capabilities
  const known = textOf({
    ...(roots && { roots: roots.listChanged ? { listChanged: true } : {} }),
    ...(sampling && {
      sampling: { ...(sampling.context && { context: {} }), ...(sampling.tools && { tools: {} }) },
    }),
    ...(elicitation && {
      elicitation: { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) },
    }),
  })
  return declared === undefined ? known : withMembers(known, declaredMembers(declared, version))
}

/** Returns the newest supported revision in an error's `data.supported` (lifecycle, "Error Handling"). */
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

/** The server chose an unknown revision in `initialize`. */
export class UnknownRevision extends Fault {
  constructor(revision: string) {
    const shown = shortName(revision, REVISION_CHARS)
    super('unavailable', `The server uses protocol version ${shown}, which is not supported`)
  }
}

/** Parses the result of `initialize`. Throws a Fault if the answer agrees on no supported revision. */
export const readInitializeResult = (answer: Answer): LegacyFacts => {
  if (answer.kind === 'fault') throw answer.fault
  if (answer.kind === 'error') {
    const reason = textMember(answer.error, 'message') ?? 'no reason given'
    throw new Fault('unavailable', `The server refused to initialize: ${reason}`)
  }
  const { result } = answer
  const revision = textMember(result, 'protocolVersion')
  if (revision === undefined) throw new Fault('unavailable', 'The server named no protocol version')
  if (!isLegacyRevision(revision)) {
    throw new UnknownRevision(revision)
  }
  const { capabilities, ...facts } = announcedIn(result)
  // 2024-11-05 has the method, but no capability for it.
  const completions = capabilities.completions || (revision === '2024-11-05' && 'undeclared')
  return { revision, ...facts, capabilities: { ...capabilities, completions } }
}
