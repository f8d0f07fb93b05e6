import type { Catalog } from '../../catalog/catalog.js'
import { offers } from '../../catalog/lists/profile-cache.js'
import type { Principal } from '../../kernel/caller.js'
import type { SentServer } from '../../kernel/definitions.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import { LOCKED_LISTS, type LockedList } from '../../kernel/lock-file.js'
import { LISTS } from '../../model/listing.js'

/**
 * Returns what a principal's connections to a server have sent, or the list that is missing. Undefined if the
 * server was not reached.
 */
export const sentDefinitions = (
  catalog: Catalog,
  name: string,
  principal: Principal,
): SentServer | { readonly missing: LockedList } | undefined => {
  const configured = [...catalog.views.values()].find(({ server }) => server.name === name)
  const view = configured && catalog.ownedBy(configured, principal)
  if (view === undefined) return undefined
  const connections = [...view.server.connections]
  const { facts, listed, isWhole } = catalog.summary(view.server, connections)
  if (facts === undefined || connections.every(({ link }) => link === undefined)) return undefined
  const missing = LOCKED_LISTS.find(list => offers(facts, list) && !isWhole(list))
  if (missing !== undefined) return { missing }
  const items = (list: LockedList): ReadonlyMap<string, JsonText> => {
    const found = new Map<string, JsonText>()
    for (const item of listed(list)?.raw ?? []) {
      const own = textMember(item, LISTS[list].identity)
      // Clients see the first item of a name.
      if (own !== undefined && !found.has(own)) found.set(own, item)
    }
    return found
  }
  const { instructions } = facts
  return { instructions, tools: items('tools'), prompts: items('prompts'), templates: items('templates') }
}
