import { type JsonText, kindOf, memberOf, stringOf } from '../../kernel/json-text.js'
import type { ClientCapabilities } from '../../model/peer.js'

/** Whether a capability is there: an object, or the `true` that sloppy peers send for one. */
const declared = (capabilities: JsonText, name: string): JsonText | undefined => {
  const value = memberOf(capabilities, name)
  if (value === undefined) return undefined
  return kindOf(value) === 'object' || value.toString('latin1') === 'true' ? value : undefined
}

/**
 * `ClientCapabilities` of a request's envelope. Roots never tell of changes in this revision, and
 * `elicitation: {}` means forms (client/elicitation, "Capabilities").
 */
export const decodeClientCapabilities = (text: JsonText): ClientCapabilities => {
  const sampling = declared(text, 'sampling')
  const elicitation = declared(text, 'elicitation')
  return {
    roots: declared(text, 'roots') && { listChanged: false },
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

/** A text member, if it is there and is text. */
export const textMember = (object: JsonText, name: string): string | undefined =>
  stringOf(memberOf(object, name))
