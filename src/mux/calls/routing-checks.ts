import type { Catalog } from '../../catalog/catalog.js'
import { insufficientScope } from '../../model/access.js'
import { failed, succeeded } from '../../model/outcome.js'
import { type Interceptor, NEXT, type RoutedRecord, type Verdict } from './call-record.js'
import { partyOf } from './party-list.js'
import { NO_COMPLETIONS } from './result-presenter.js'

/** Ends calls of tools that need more scopes than their caller has. */
export const accessScopes = (catalog: Pick<Catalog, 'lackingScopes'>): Interceptor => {
  const run = ({ caller, owner, ownName }: RoutedRecord): Verdict => {
    const lacking = catalog.lackingScopes(caller, owner.server.options, ownName)
    return lacking.length === 0 ? NEXT : failed(insufficientScope(lacking))
  }
  return { name: 'access scopes', stage: 'routed', methods: ['tools/call'], run }
}

/**
 * Ends completions at servers that have none; a server whose revision has no capability for them is asked.
 */
export const knownCompletions = (catalog: Pick<Catalog, 'facts'>): Interceptor => {
  const run = ({ owner, client }: RoutedRecord): Verdict =>
    catalog.facts(owner.server, client)?.capabilities.completions === false ? succeeded(NO_COMPLETIONS) : NEXT
  return { name: 'completions', stage: 'routed', methods: ['completion/complete'], run }
}

/** Assigns the connection of its client to a call, if the server accepts another request. */
export const CONNECTION: Interceptor = {
  name: 'connection',
  stage: 'routed',
  run: (record: RoutedRecord) => {
    const { owner, client, beganMs, params } = record
    const connection = owner.server.connectionFor(client)
    const { bounds, server, inFlight } = connection
    if (inFlight >= bounds.max.callsPerServer) {
      const words = `Server ${server.name} has ${inFlight} requests in flight`
      return failed(bounds.overloaded('callsPerServer', words, { server: server.name }))
    }
    record.connection = connection
    record.party = partyOf(client)
    record.sentParams = params
    record.totalAtMs = beganMs + server.timeouts.totalMs
    return NEXT
  },
}
