import { at, type JsonText } from '../kernel/json/text.js'
import { type Declaration, type Extensions, mayPass, readExtensions, TASKS_EXTENSION } from './extensions.js'
import { isLegacyRevision, type Revision } from './revision.js'
import type { ServerRequestMode } from './server-request-mode.js'

/** The client's capabilities, reduced to those that the proxy understands and can honour on its behalf. */
export interface ClientCapabilities {
  readonly roots: { readonly listChanged: boolean } | undefined
  readonly sampling: { readonly tools: boolean; readonly context: boolean } | undefined
  readonly elicitation:
    | {
        readonly form: boolean
        readonly url: boolean
        /** True if it named no mode, which means forms; passed on as an empty object. */
        readonly isBare?: boolean
      }
    | undefined
  /** Absent if it declared nothing else. */
  readonly declared?: Declaration | undefined
}

export const NO_CAPABILITIES: ClientCapabilities = {
  roots: undefined,
  sampling: undefined,
  elicitation: undefined,
}

/** Returns whether servers may send this client any request. */
export const canAnswerQuestions = ({ roots, sampling, elicitation }: ClientCapabilities): boolean =>
  roots !== undefined || sampling !== undefined || elicitation !== undefined

/** The server's capabilities, reduced to those that affect routing. */
export interface ServerCapabilities {
  readonly tools: { readonly listChanged: boolean } | undefined
  readonly prompts: { readonly listChanged: boolean } | undefined
  readonly resources: { readonly listChanged: boolean; readonly subscribe: boolean } | undefined
  /** `undeclared`: possible, but its revision has no capability for it (2024-11-05). */
  readonly completions: boolean | 'undeclared'
  /** Absent without the extension; `directoryRead`: its directories can be read (SEP-2640). */
  readonly skills?: { readonly directoryRead: boolean } | undefined
  readonly logging: boolean
  /**
   * True if tools may be called as tasks (2025-11-25, basic/utilities/tasks; an extension of 2026-07-28).
   */
  readonly tasks: boolean
}

/** Facts about a server from its handshake. */
export interface ServerFacts {
  readonly revision: Revision
  readonly capabilities: ServerCapabilities
  /** Its `ServerCapabilities` object, unchanged. */
  readonly announced: JsonText
  /** Its `Implementation` object, unchanged. */
  readonly info: JsonText
  readonly instructions: string | undefined
}

export interface Identity {
  readonly name: string
  readonly version: string
  readonly title: string
}

let last = 0

/** Returns the next client number, unique in this process; for logs and tables, never sent to a peer. */
export const newClientId = (): number => {
  last += 1
  return last
}

/** Returns whether a peer has sessions. */
export const hasSessions = ({ revision }: Pick<ServerFacts, 'revision'>): boolean =>
  isLegacyRevision(revision)

/** Returns whether a peer has tasks that are not an extension (2025-11-25, basic/utilities/tasks). */
export const hasOwnTasks = ({ revision }: Pick<ServerFacts, 'revision'>): boolean => revision === '2025-11-25'

/** Returns whether items of lists have `_meta` in a peer's revision. */
export const hasItemMeta = ({ revision }: Pick<ServerFacts, 'revision'>): boolean => revision >= '2025-06-18'

/** Returns whether clients of a revision can be asked for input (elicitation). */
export const hasElicitation = ({ revision }: Pick<ServerFacts, 'revision'>): boolean =>
  revision >= '2025-06-18'

/** Returns the extensions of a server that its revision may have. */
export const extensionsOf = ({
  announced,
  revision,
}: Pick<ServerFacts, 'announced' | 'revision'>): Extensions =>
  new Map(
    [...readExtensions(announced)].filter(([id]) =>
      mayPass(id, isLegacyRevision(revision) ? 'pushed' : 'returned'),
    ),
  )

/** Returns whether a server announces tasks of tool calls in the form of its own revision. */
export const announcesTasks = (facts: Pick<ServerFacts, 'announced' | 'revision'>): boolean =>
  hasSessions(facts)
    ? hasOwnTasks(facts) && at(facts.announced, 'tasks', 'requests', 'tools', 'call') !== undefined
    : extensionsOf(facts).has(TASKS_EXTENSION)

/** Returns whether a client follows the tasks of 2026-07-28 by itself, as it declares on each request. */
export const declaresTasks = (client: {
  readonly serverRequests: ServerRequestMode
  readonly capabilities: ClientCapabilities
}): boolean =>
  client.serverRequests === 'returned' &&
  client.capabilities.declared?.extensions.has(TASKS_EXTENSION) === true
