import { Fault } from '../../kernel/faults.js'
import {
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  ownText,
  textMember,
  textOf,
  withoutMember,
} from '../../kernel/json/text.js'
import type { Welcome } from '../../model/links.js'
import type { ClientCapabilities, Identity, ServerFacts } from '../../model/peer.js'
import {
  isLegacyRevision,
  LEGACY_REVISIONS,
  type LegacyRevision,
  NEWEST_LEGACY,
} from '../../model/revision.js'
import { decodeClientCapabilities, encodeServerCapabilities, INFO_BYTES } from '../../rpc/capabilities.js'

/** What a client sent in `initialize`. */
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

/** Who the server is that is served as it is; to a client of its own revision in its very words. */
const ownInfo = (own: ServerFacts | undefined, revision: LegacyRevision): JsonText | undefined => {
  if (own === undefined || textMember(own.info, 'name') === undefined) return undefined
  if (own.revision === revision) return own.info
  return LATER_MEMBERS.filter(([, since]) => revision < since).reduce(
    (info, [name]) => withoutMember(info, name),
    own.info,
  )
}
