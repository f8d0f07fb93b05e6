import type { ServerView } from '../../catalog/lists/server-view.js'
import { matchTemplate, schemeAliases, splitUri } from '../../catalog/names/uris.js'
import { cause } from '../../diagnostics/explain.js'
import { type JsonText, memberOf, stringOf } from '../../kernel/json/text.js'
import type { ListName } from '../../model/listing.js'
import type { ControlApiContext } from './context.js'
import { type Reason, reachOf, reason, type Why } from './verdicts.js'

// Explains the route of a resource read, in the order in which `Owners` looks for its server.

/** Returns a server's raw items of a list. Empty if the list was not read. */
export const rawsOf = (
  { router }: ControlApiContext,
  view: ServerView,
  list: ListName,
): readonly JsonText[] =>
  router.catalog.summary(view.server, [...view.server.connections]).listed(list)?.raw ?? []

/** Reports a name or URI that several servers have. */
export const ambiguous = (
  query: string,
  kind: Why['kind'],
  candidates: readonly string[],
  code: 'ambiguous' | 'ambiguous.template' | 'ambiguous.unlisted' = 'ambiguous',
): Why => {
  const causes = [reason(cause(code, { servers: candidates.join(', ') }))]
  return { version: 1, query, kind, verdict: 'ambiguous', answered: false, causes }
}

/** Finds the server of an unlisted URI by prefix, by template, or by the last result with that URI. */
export const ofUri = (context: ControlApiContext, query: string): Why | undefined =>
  byPrefix(context, query) ?? byTemplate(context, query) ?? bySeen(context, query)

interface Way {
  readonly query: string
  readonly server: string
  readonly own: string
  readonly found: readonly Reason[]
}

const answerOf = (context: ControlApiContext, { query, server, own, found }: Way): Why => {
  const { answered, causes: state } = reachOf(context, server, 'resources')
  const causes = [...found, ...(answered ? [] : state)]
  const verdict = found[0]?.verdict ?? 'unknown'
  return { version: 1, query, kind: 'resource', server, own, verdict, answered, causes }
}

const viewsIn = ({ router }: ControlApiContext): readonly ServerView[] => [...router.catalog.views.values()]

const byPrefix = (context: ControlApiContext, query: string): Why | undefined => {
  const views = viewsIn(context).filter(({ exposure }) => exposure.uris === 'prefix')
  const split = splitUri(query, schemeAliases(views.map(({ server }) => server.options.alias)))
  const view = views.find(({ server }) => server.options.alias === split?.alias)
  if (split === undefined || view === undefined) return undefined
  const server = view.server.name
  const asked = cause('uri-by-prefix', { server, uri: split.uri }, server)
  const [template] = matches(context, view, split.uri)
  if (template === undefined)
    return answerOf(context, { query, server, own: split.uri, found: [reason(asked)] })
  const found = [
    reason(cause('uri-by-template', { template: template.own, server }, server)),
    reason(asked, { verdict: 'uri-by-template' }),
  ]
  return answerOf(context, { query, server, own: template.own, found })
}

/**
 * Returns the templates of a server that match one of its own URIs, with the number of literal characters.
 */
const matches = (context: ControlApiContext, view: ServerView, uri: string) =>
  rawsOf(context, view, 'templates').flatMap(raw => {
    const own = stringOf(memberOf(raw, 'uriTemplate')) ?? ''
    const literal = matchTemplate(own, uri)
    return literal === undefined ? [] : [{ own, literal, server: view.server.name }]
  })

const byTemplate = (context: ControlApiContext, query: string): Why | undefined => {
  const found = viewsIn(context).flatMap(view => matches(context, view, query))
  const longest = Math.max(...found.map(({ literal }) => literal))
  const best = found.filter(({ literal }) => literal === longest)
  const servers = [...new Set(best.map(({ server }) => server))]
  const [first] = best
  const seen = context.router.owners.seen(query)?.name
  if (first === undefined || (servers.length > 1 && seen !== undefined && servers.includes(seen)))
    return undefined
  if (servers.length > 1) return ambiguous(query, 'resource', servers, 'ambiguous.template')
  const { own, server } = first
  const matched = cause('uri-by-template', { template: own, server }, server)
  return answerOf(context, { query, server, own, found: [reason(matched)] })
}

const bySeen = (context: ControlApiContext, query: string): Why | undefined => {
  const server = context.router.owners.seen(query)?.name
  if (server === undefined) return undefined
  const found = [reason(cause('uri-seen', { server }, server))]
  return answerOf(context, { query, server, own: query, found })
}

/** Routes an unknown URI to the only server with resources. */
export const ofOnlyServer = (context: ControlApiContext, query: string): Why | undefined => {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(query)) return undefined
  const { catalog } = context.router
  const having = viewsIn(context).filter(({ server }) => {
    const { facts } = catalog.summary(server, [...server.connections])
    return (facts?.capabilities.resources ?? facts?.capabilities.skills) !== undefined
  })
  const [only] = having
  if (only === undefined) return undefined
  const names = having.map(({ server }) => server.name)
  if (having.length > 1) return ambiguous(query, 'resource', names, 'ambiguous.unlisted')
  const server = only.server.name
  const found = [reason(cause('uri-by-elimination', { server }, server))]
  return answerOf(context, { query, server, own: query, found })
}
