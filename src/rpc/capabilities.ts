import { at, type JsonText, kindOf, memberOf } from '../kernel/json-text.js'
import type { ClientCapabilities, ServerCapabilities } from '../model/peer.js'

/** Tasks, where they are an extension (SEP-2663). */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

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

/** `ServerCapabilities` as a server announces them (schema, all revisions), read leniently. */
export const decodeServerCapabilities = (text: JsonText): ServerCapabilities => {
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

/** `ClientCapabilities` as a client declares them (schema, all revisions); `elicitation: {}` means forms (client/elicitation). */
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
