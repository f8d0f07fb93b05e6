import type { JsonText } from '../kernel/json/text.js'
import type { Declaration } from './extensions.js'
import { isLegacyRevision, type Revision } from './revision.js'

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
