import { type JsonText, memberOf, stringOf, withoutMember } from '../../kernel/json/text.js'

/**
 * Params of a model completion for a client behind which several servers stand: it sees one, us, so that "this server's
 * context" would hand one server what belongs to the others (client/sampling; architecture: servers are isolated).
 */
export const withoutContext = (params: JsonText): JsonText => {
  const context = stringOf(memberOf(params, 'includeContext'))
  return context === 'thisServer' || context === 'allServers'
    ? withoutMember(params, 'includeContext')
    : params
}
