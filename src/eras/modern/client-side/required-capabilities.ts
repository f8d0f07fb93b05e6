import {
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  rawText,
  some,
  withMember,
} from '../../../kernel/json/text.js'

const FORM = rawText('{"form":{}}')

/**
 * Whether a client lacks something that is required: both are `ClientCapabilities` objects. A member that is
 * required counts as declared if it is there with all that is required inside it.
 */
export const lacksCapability = (declared: JsonText, required: JsonText): boolean =>
  lacksMember(withForm(declared), withForm(required))

const lacksMember = (declared: JsonText, required: JsonText): boolean =>
  some(membersOf(required), ({ key, value }) => {
    const found = memberOf(declared, key)
    return found === undefined || lacksMember(found, value)
  })

/** `elicitation: {}` means forms (client/elicitation, "Capabilities"). */
const withForm = (capabilities: JsonText): JsonText => {
  const elicitation = memberOf(capabilities, 'elicitation')
  if (elicitation === undefined || kindOf(elicitation) !== 'object') return capabilities
  const isNamed = memberOf(elicitation, 'form') !== undefined || memberOf(elicitation, 'url') !== undefined
  return isNamed ? capabilities : withMember(capabilities, 'elicitation', FORM)
}
