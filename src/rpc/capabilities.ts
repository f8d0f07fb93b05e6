import {
  at,
  EMPTY,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  ownText,
  textMember,
  textOf,
  withMembers,
  withoutMember,
} from '../kernel/json/text.js'
import type { Welcome } from '../model/links.js'
import type { ClientCapabilities, ServerCapabilities, ServerFacts } from '../model/peer.js'
import type { Revision } from '../model/revision.js'

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** Capabilities passed on only where the proxy supports them: it does not route the methods of tasks. */
const ROUTED: ReadonlySet<string> = new Set([
  'tools',
  'prompts',
  'resources',
  'completions',
  'logging',
  'tasks',
])

/** Encodes `ServerCapabilities` for a client of `revision`, without members that its schema lacks. */
export const encodeServerCapabilities = (welcome: Welcome, revision: Revision): JsonText => {
  const { tools, prompts, resources, completions, logging } = welcome.capabilities
  const known = textOf({
    ...(tools && { tools: { listChanged: true } }),
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { ...(resources.subscribe && { subscribe: true }), listChanged: true } }),
    ...(completions && revision >= '2025-03-26' && { completions: {} }),
    ...(logging && { logging: {} }),
  })
  return welcome.own === undefined ? known : withOwnCapabilities(known, welcome.own, revision)
}

/**
 * Adds the capabilities of a server that is exposed unchanged: in its own form where the proxy has them too,
 * and those that the proxy does not know. `known` is in the form of the client's revision; unknown members
 * only go to clients of the server's revision.
 */
const withOwnCapabilities = (
  known: JsonText,
  { announced, revision }: ServerFacts,
  to: Revision,
): JsonText => {
  const own: [string, JsonText][] = []
  for (const { key, value } of membersOf(announced)) {
    if (kindOf(value) !== 'object') continue
    const isKnown = memberOf(known, key) !== undefined
    const isUnknown = !ROUTED.has(key) && (revision === to || key === 'experimental')
    if (isKnown || isUnknown)
      own.push([key, key === 'extensions' ? withoutMember(value, TASKS_EXTENSION) : value])
  }
  return withMembers(known, own)
}

/** Returns a declared capability: an object, or the `true` that some peers send instead. */
const declared = (capabilities: JsonText, name: string): JsonText | undefined => {
  const value = memberOf(capabilities, name)
  if (value === undefined) return undefined
  const kind = kindOf(value)
  return kind === 'object' || (kind === 'boolean' && isTrue(value)) ? value : undefined
}

const isTrue = (value: JsonText | undefined): boolean =>
  value !== undefined && value.toString('latin1') === 'true'

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
  const tools = declared(text, 'tools')
  const prompts = declared(text, 'prompts')
  const resources = declared(text, 'resources')
  return {
    tools: tools && { listChanged: flag(tools, 'listChanged') },
    prompts: prompts && { listChanged: flag(prompts, 'listChanged') },
    resources: resources && {
      listChanged: flag(resources, 'listChanged'),
      subscribe: flag(resources, 'subscribe'),
    },
    completions: declared(text, 'completions') !== undefined,
    logging: declared(text, 'logging') !== undefined,
    tasks:
      at(text, 'tasks', 'requests', 'tools', 'call') !== undefined ||
      at(text, 'extensions', TASKS_EXTENSION) !== undefined,
  }
}

/** Decodes `ClientCapabilities` (all revisions); `elicitation: {}` means forms (client/elicitation). */
export const decodeClientCapabilities = (text: JsonText): ClientCapabilities => {
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
  }
}

const decodeElicitation = (elicitation: JsonText): { form: boolean; url: boolean } => {
  const form = declared(elicitation, 'form') !== undefined
  const url = declared(elicitation, 'url') !== undefined
  return { form: form || !url, url }
}
