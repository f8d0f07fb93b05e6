import {
  at,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  ownText,
  rawText,
  textMember,
  textOf,
  withMembers,
  withoutMember,
} from '../kernel/json/text.js'
import type { Welcome } from '../model/links.js'
import type { ClientCapabilities, ServerCapabilities, ServerFacts } from '../model/peer.js'
import type { Revision } from '../model/revision.js'

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

const NONE = rawText('{}')
/** Announced only where we can keep what they promise: the methods of tasks are not routed. */
const ROUTED: ReadonlySet<string> = new Set([
  'tools',
  'prompts',
  'resources',
  'completions',
  'logging',
  'tasks',
])

/** `ServerCapabilities` for a client of `revision`, without members that its schema lacks. */
export const encodeServerCapabilities = (welcome: Welcome, revision: Revision): JsonText => {
  const { tools, prompts, resources, completions, logging } = welcome.capabilities
  const said = textOf({
    ...(tools && { tools: { listChanged: true } }),
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { ...(resources.subscribe && { subscribe: true }), listChanged: true } }),
    ...(completions && revision >= '2025-03-26' && { completions: {} }),
    ...(logging && { logging: {} }),
  })
  return welcome.own === undefined ? said : inOwnWords(said, welcome.own, revision)
}

/**
 * The capabilities of the server that is served as it is: in its words where we have some too, and what we do
 * not know. `said` is in the form of the client's revision; unknown members go only to clients of the same
 * one.
 */
const inOwnWords = (said: JsonText, { announced, revision }: ServerFacts, to: Revision): JsonText => {
  const own: [string, JsonText][] = []
  for (const { key, value } of membersOf(announced)) {
    if (kindOf(value) !== 'object') continue
    const isSaid = memberOf(said, key) !== undefined
    const isUnknown = !ROUTED.has(key) && (revision === to || key === 'experimental')
    if (isSaid || isUnknown)
      own.push([key, key === 'extensions' ? withoutMember(value, TASKS_EXTENSION) : value])
  }
  return withMembers(said, own)
}

/** Whether a capability is there: an object, or the `true` that sloppy peers send for one. */
const declared = (capabilities: JsonText, name: string): JsonText | undefined => {
  const value = memberOf(capabilities, name)
  if (value === undefined) return undefined
  const kind = kindOf(value)
  return kind === 'object' || (kind === 'boolean' && isTrue(value)) ? value : undefined
}

const isTrue = (value: JsonText | undefined): boolean =>
  value !== undefined && value.toString('latin1') === 'true'

const flag = (capability: JsonText, name: string): boolean => isTrue(memberOf(capability, name))

/** What a peer may say about itself at most: it is kept for as long as the peer is known. */
export const INFO_BYTES = 64 * 1024

/** What the result of `initialize` or `server/discover` says about a server, raw and decoded. */
export const announcedIn = (
  result: JsonText,
  info = memberOf(result, 'serverInfo'),
): Omit<ServerFacts, 'revision'> => {
  const announced = memberOf(result, 'capabilities') ?? NONE
  return {
    announced: kept(announced),
    capabilities: decodeServerCapabilities(announced),
    info: kept(info ?? NONE),
    instructions: textMember(result, 'instructions')?.slice(0, INFO_BYTES),
  }
}

/** Copies it; nothing in place of what is too long. */
const kept = (said: JsonText): JsonText => (said.length > INFO_BYTES ? NONE : ownText(said))

/** `ServerCapabilities` as a server announces them (schema, all revisions), read leniently. */
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

/** `ClientCapabilities` as declared (all revisions); `elicitation: {}` means forms (client/elicitation). */
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
