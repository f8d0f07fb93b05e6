import type { JsonText } from '../kernel/json/text.js'
import type { Revision } from './revision.js'

/** What a client can be asked, reduced to what the proxy understands and can honour on its behalf. */
export interface ClientCapabilities {
  readonly roots: { readonly listChanged: boolean } | undefined
  readonly sampling: { readonly tools: boolean; readonly context: boolean } | undefined
  readonly elicitation:
    | {
        readonly form: boolean
        readonly url: boolean
        /** It named no mode, which means forms; it is passed on without one. */
        readonly isBare?: boolean
      }
    | undefined
}

export const NO_CAPABILITIES: ClientCapabilities = {
  roots: undefined,
  sampling: undefined,
  elicitation: undefined,
}

/** Whether servers may ask a client anything. */
export const isInteractive = ({ roots, sampling, elicitation }: ClientCapabilities): boolean =>
  roots !== undefined || sampling !== undefined || elicitation !== undefined

/** What a server said that it can do, reduced to what the proxy routes by. */
export interface ServerCapabilities {
  readonly tools: { readonly listChanged: boolean } | undefined
  readonly prompts: { readonly listChanged: boolean } | undefined
  readonly resources: { readonly listChanged: boolean; readonly subscribe: boolean } | undefined
  /** `undeclared`: it may or may not complete, for its revision has no capability to say so (2024-11-05). */
  readonly completions: boolean | 'undeclared'
  readonly logging: boolean
  /** Whether tools may be called as tasks (2025-11-25, basic/utilities/tasks; an extension of 2026-07-28). */
  readonly tasks: boolean
}

/** What is known about a server once it answered the handshake. */
export interface ServerFacts {
  readonly revision: Revision
  readonly capabilities: ServerCapabilities
  /** Its `ServerCapabilities` object as it came. */
  readonly announced: JsonText
  /** Its `Implementation` object as it came: name, version and whatever else. */
  readonly info: JsonText
  readonly instructions: string | undefined
}

export interface Identity {
  readonly name: string
  readonly version: string
  readonly title: string
}

let last = 0

/** Numbers a new client, uniquely in this process; for logs and tables, never on a wire. */
export const newClientId = (): number => {
  last += 1
  return last
}
