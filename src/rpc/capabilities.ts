import {
  at,
  EMPTY,
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  ownText,
  rawText,
  some,
  stringOf,
  textMember,
  textOf,
  withMembers,
} from '../kernel/json/text.js'
import {
  type Extensions,
  encodeExtensions,
  mayPass,
  readExtensions,
  skillsIn,
  TASKS_EXTENSION,
} from '../model/extensions.js'
import type { ServerRequestMode, Welcome } from '../model/links.js'
import {
  type ClientCapabilities,
  hasOwnTasks,
  type ServerCapabilities,
  type ServerFacts,
} from '../model/peer.js'
import { isLegacyRevision, type Revision } from '../model/revision.js'

/** Server capabilities passed on only where the proxy announces them too. */
const ROUTED: ReadonlySet<string> = new Set(['tools', 'prompts', 'resources', 'completions', 'logging'])
/** Client capabilities that the proxy understands. */
const DECODED: ReadonlySet<string> = new Set(['roots', 'sampling', 'elicitation'])

/** Encodes `ServerCapabilities` for a client of `revision`, without members that its schema lacks. */
export const encodeServerCapabilities = (welcome: Welcome, revision: Revision): JsonText => {
  const { tools, prompts, resources, completions, logging, tasks, extensions } = welcome.capabilities
  const known = textOf({
    ...(tools && { tools: { listChanged: true } }),
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { ...(resources.subscribe && { subscribe: true }), listChanged: true } }),
    ...(completions && revision >= '2025-03-26' && { completions: {} }),
    ...(logging && { logging: {} }),
  })
  if (welcome.own !== undefined) return withOwnCapabilities(known, welcome.own, revision)
  return withMembers(known, [
    ...(tasks === true && hasOwnTasks({ revision }) ? [['tasks', OWN_TASKS] as const] : []),
    ...(extensions === undefined ? [] : [['extensions', encodeExtensions(extensions)] as const]),
  ])
}

/** The tasks of 2025-11-25 that clients of several servers may use: they are not listed. */
const OWN_TASKS = rawText('{"cancel":{},"requests":{"tools":{"call":{}}}}')

/**
 * Adds the capabilities of a server that is exposed unchanged: in its own form where the proxy has them too,
 * and those that the proxy does not know. `known` is in the form of the client's revision; unknown members
 * only go to clients of the server's revision, except for `extensions` and `experimental`.
 */
const withOwnCapabilities = (
  known: JsonText,
  { announced, revision }: ServerFacts,
  to: Revision,
): JsonText => {
  const own: [string, JsonText][] = []
  for (const { key, value } of membersOf(announced)) {
    if (kindOf(value) !== 'object' || key === 'extensions') continue
    if (ROUTED.has(key) ? memberOf(known, key) !== undefined : isUnderstood(key, revision, to))
      own.push([key, value])
  }
  const passed = passedExtensions(announced, revision, to)
  if (passed.size > 0) own.push(['extensions', encodeExtensions(passed)])
  return withMembers(known, own)
}

/** Returns whether a peer of one revision understands a member that another one's peer wrote. */
const isUnderstood = (key: string, from: Revision, to: Revision): boolean =>
  key === 'experimental' || (from === to && (key !== 'tasks' || hasOwnTasks({ revision: to })))

/** Only peers without handshakes may use extensions of theirs through peers of the same kind. */
const passedExtensions = (capabilities: JsonText, from: Revision, to: Revision): Extensions =>
  new Map(
    [...readExtensions(capabilities)].filter(([id]) => mayPass(id, modeOf(from)) && mayPass(id, modeOf(to))),
  )

const modeOf = (revision: Revision): ServerRequestMode => (isLegacyRevision(revision) ? 'pushed' : 'returned')

/**
 * Returns a declared capability: an object, or `true`, or the `[]` that PHP writes for an empty object.
 */
const declared = (capabilities: JsonText, name: string): JsonText | undefined => {
  const value = memberOf(capabilities, name)
  if (value === undefined) return undefined
  const kind = kindOf(value)
  return kind === 'object' || kind === 'array' || (kind === 'boolean' && isTrue(value)) ? value : undefined
}

/** As `declared`, for servers: a text or a number means yes, and a list may hold the names. */
const offered = (capabilities: JsonText, name: string): JsonText | undefined => {
  if (kindOf(capabilities) === 'array')
    return some(elementsOf(capabilities), element => stringOf(element) === name) ? EMPTY : undefined
  const value = memberOf(capabilities, name)
  if (value === undefined) return undefined
  const kind = kindOf(value)
  const isYes = (kind === 'string' || kind === 'number') && !NO.test(value.toString('latin1'))
  return isYes ? EMPTY : declared(capabilities, name)
}

const NO = /^(?:"(?:|no|false|none|off|0)"|0)$/i

const isTrue = (value: JsonText | undefined): boolean =>
  value !== undefined && /^(?:true|"true"|1)$/.test(value.toString('latin1', 0, 8))

const flag = (capability: JsonText, name: string): boolean => isTrue(memberOf(capability, name))

/** The maximum length of a peer's self-description, which is kept while the peer is known. */
export const INFO_BYTES = 64 * 1024

/**
 * Reads a server's self-description from the result of `initialize` or `server/discover`, raw and decoded.
 */
export const announcedIn = (
  result: JsonText,
  info = memberOf(result, 'serverInfo'),
): Omit<ServerFacts, 'revision'> => {
  const announced = memberOf(result, 'capabilities') ?? EMPTY
  return {
    announced: kept(announced),
    capabilities: decodeServerCapabilities(announced),
    info: kept(info ?? EMPTY),
    instructions: textMember(result, 'instructions')?.slice(0, INFO_BYTES),
  }
}

/** Copies a text; replaces one that is too long by an empty object. */
const kept = (text: JsonText): JsonText => (text.length > INFO_BYTES ? EMPTY : ownText(text))

/** Decodes `ServerCapabilities` leniently (schema, all revisions). */
const decodeServerCapabilities = (text: JsonText): ServerCapabilities => {
  const tools = offered(text, 'tools')
  const prompts = offered(text, 'prompts')
  const resources = offered(text, 'resources')
  const skills = skillsIn(text)
  return {
    tools: tools && { listChanged: flag(tools, 'listChanged') },
    prompts: prompts && { listChanged: flag(prompts, 'listChanged') },
    resources: resources && {
      listChanged: flag(resources, 'listChanged'),
      subscribe: flag(resources, 'subscribe'),
    },
    completions: offered(text, 'completions') !== undefined,
    logging: offered(text, 'logging') !== undefined,
    ...(skills && { skills }),
    tasks:
      at(text, 'tasks', 'requests', 'tools', 'call') !== undefined ||
      at(text, 'extensions', TASKS_EXTENSION) !== undefined,
  }
}

/**
 * Decodes the `ClientCapabilities` of a client of `revision`; `elicitation: {}` means forms
 * (client/elicitation). The rest is kept as text, unless it is too long.
 */
export const decodeClientCapabilities = (text: JsonText, revision: Revision): ClientCapabilities => {
  const roots = declared(text, 'roots')
  const sampling = declared(text, 'sampling')
  const elicitation = declared(text, 'elicitation')
  return {
    roots: roots && { listChanged: flag(roots, 'listChanged') },
    sampling: sampling && {
      tools: declared(sampling, 'tools') !== undefined,
      context: declared(sampling, 'context') !== undefined,
    },
    elicitation: elicitation && decodeElicitation(elicitation),
    ...(isAllDecoded(text) || text.length > INFO_BYTES ? undefined : declarationIn(text, revision)),
  }
}

const isAllDecoded = (text: JsonText): boolean => !some(membersOf(text), ({ key }) => !DECODED.has(key))

const declarationIn = (
  text: JsonText,
  revision: Revision,
): Pick<ClientCapabilities, 'declared'> | undefined => {
  const own = ownText(text)
  const extensions = passedExtensions(own, revision, revision)
  const experimental = declared(own, 'experimental')
  const others = [...membersOf(own)].flatMap(({ key, value }): (readonly [string, JsonText])[] => {
    const isOther = !DECODED.has(key) && key !== 'extensions' && key !== 'experimental'
    return isOther && isUnderstood(key, revision, revision) ? [[key, value]] : []
  })
  if (extensions.size === 0 && experimental === undefined && others.length === 0) return undefined
  return {
    declared: {
      extensions,
      experimental: experimental && isTrue(experimental) ? EMPTY : experimental,
      others,
      revision,
      withheld: [],
    },
  }
}

const decodeElicitation = (elicitation: JsonText): { form: boolean; url: boolean } => {
  const form = declared(elicitation, 'form') !== undefined
  const url = declared(elicitation, 'url') !== undefined
  return { form: form || !url, url }
}
