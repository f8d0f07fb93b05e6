import type { ServerView } from '../../catalog/lists/server-view.js'
import { exposedName } from '../../catalog/names/names.js'
import { repairItem } from '../../catalog/repair/items.js'
import { suggest } from '../../config/schema/suggest.js'
import type { ServerConfig } from '../../config/types.js'
import { cause } from '../../diagnostics/explain.js'
import { projectLegacyResult } from '../../eras/index.js'
import { isErrorId, RUN } from '../../kernel/error-ids.js'
import { Fault } from '../../kernel/faults.js'
import { matcherOf } from '../../kernel/globs.js'
import { arrayText, memberOf, objectText, textMember } from '../../kernel/json/text.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import { isLegacyRevision } from '../../model/revision.js'
import { exposed } from '../../telemetry/status/exposed.js'
import { statusOfServer } from '../../telemetry/status/status.js'
import type { ControlApiContext } from './context.js'
import { causeOfError } from './error-cause.js'
import { changesOf, configOf, type Found, renamed } from './item-changes.js'
import { inServer, placed, serverLines, serverOfProblem } from './places.js'
import { ruleBehind, rulesAbout } from './rules.js'
import { ambiguous, ofOnlyServer, ofUri, rawsOf } from './uri-routes.js'
import {
  causesOf,
  isAnsweredBy,
  isFull,
  type Reason,
  reachOf,
  reason,
  serverVerdict,
  type Why,
  withFix,
} from './verdicts.js'
import { mergedItems } from './views.js'

export type { Reason, Why } from './verdicts.js'

const KINDS = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  templates: 'template',
  skills: 'skill',
} as const
const QUERY_BYTES = 8192
const MODERN = '2026-07-28'

/**
 * Explains the state of a name, URI, server or error id. With a revision, also explains differences for its
 * clients. Throws a Fault `invalid-params` for an unknown revision.
 */
export const whyOf = (context: ControlApiContext, query: string, revision?: string): Why => {
  if (revision !== undefined && revision !== MODERN && !isLegacyRevision(revision))
    throw new Fault('invalid-params', `unknown revision: ${sanitizeLine(revision, 64)}`)
  const asked = query.slice(0, QUERY_BYTES)
  return withFix(
    (isErrorId(asked) ? ofError(context, asked) : undefined) ??
      ofServer(context, asked) ??
      ofItem(context, asked, revision) ??
      ofUri(context, asked) ??
      ofPrefix(context, asked) ??
      ofAbsent(context, asked) ??
      ofOnlyServer(context, asked) ??
      unknown(context, asked),
  )
}

// ── errors ──

const ofError = (context: ControlApiContext, query: string): Why | undefined => {
  const { router } = context
  const error = router.faults.of(query)
  const base = { version: 1, query, kind: 'error' } as const
  if (error !== undefined) {
    const causes = (error.causes ?? []).map(message => reason(cause('error', { message })))
    const { server, name: own } = error
    const { fix } = reason(causeOfError(error))
    const rule = error.rule === undefined ? undefined : ruleBehind(context, error.rule, error.tests ?? [])
    return {
      ...{ ...base, verdict: 'error', answered: true, server, own, fix, error },
      causes: rule === undefined ? causes : [rule, ...causes],
    }
  }
  // Without errors in this process, such as when no proxy runs, there are no ids to suggest.
  const hint = router.faults.all.length === 0 ? '' : `; the ids of this run begin with ${RUN}-`
  const found = query.startsWith(`${RUN}-`) ? cause('unknown.forgotten', {}) : cause('unknown.run', { hint })
  return { ...base, verdict: 'unknown', answered: false, causes: [reason(found)] }
}

// ── servers ──

const ofServer = (context: ControlApiContext, query: string): Why | undefined => {
  const base = { version: 1, query, kind: 'server', server: query } as const
  const status = statusOfServer(context, query)
  if (status !== undefined) {
    const causes = causesOf(context, status)
    const { verdict = 'shown' } = causes.find(cause => cause.verdict !== 'remark') ?? {}
    const server = context.router.pool.servers.find(({ name }) => name === query)
    const about = server && serverVerdict(context, server)
    return { ...base, about, verdict, answered: isAnsweredBy(status) && verdict !== 'list-not-read', causes }
  }
  if (context.disabled().has(query))
    return {
      ...base,
      verdict: 'disabled',
      answered: false,
      causes: [reason(cause('disabled.here', { server: query }, query))],
    }
  const problems = context.problems().filter(each => serverOfProblem(each, serverLines(context)) === query)
  const off = switchedOffAt(context, query)
  if (off !== undefined) return { ...base, verdict: 'disabled', answered: false, causes: [off] }
  if (problems.length === 0) return undefined
  const causes = problems.map(({ id: doctor = 'D011', message, fix: advice, file, line, column }) => ({
    ...reason(cause('misconfigured', { message, advice }, query), { file, line, column }),
    doctor,
  }))
  return { ...base, verdict: 'misconfigured', answered: false, causes }
}

/** Returns the cause for a server that the configuration file disables. */
const switchedOffAt = (context: ControlApiContext, server: string): Reason | undefined => {
  const place = placed(context, ['mcpServers', server, 'disabled'])
  return place.line === undefined ? undefined : reason(cause('disabled.file', { server }, server), place)
}

// ── names ──

/** Returns every listed item with this exposed or own name, including hidden ones. */
const candidates = (context: ControlApiContext, query: string): readonly Found[] =>
  [...context.router.catalog.views.values()].flatMap(view =>
    LIST_NAMES.flatMap(list =>
      rawsOf(context, view, list).flatMap(raw => {
        const own = textMember(raw, LISTS[list].identity)
        return own !== undefined && names(view, list, own).includes(query) ? [{ view, list, own, raw }] : []
      }),
    ),
  )

const names = (view: ServerView, list: ListName, own: string): readonly string[] => {
  if (list !== 'tools' && list !== 'prompts') return [view.exposeUri(own), own]
  const exposed = view.exposeName(list, own)
  // The name with a prefix, which replaces a name that was taken.
  return [exposed, exposedName(view.server.options.alias, exposed), own]
}

const ofItem = (context: ControlApiContext, query: string, revision: string | undefined): Why | undefined => {
  const all = candidates(context, query)
  const servers = new Set(all.map(({ view }) => view.server.name))
  const exposed = all.filter(({ view, list, own }) => names(view, list, own)[0] === query)
  const [found] = exposed.length > 0 ? exposed : all
  if (found === undefined) return undefined
  if (exposed.length === 0 && servers.size > 1) return ambiguous(query, KINDS[found.list], [...servers])
  const why = explainItem(context, query, found)
  const changed = why.answered && isChangedFor(context, found, revision)
  if (!changed || revision === undefined) return why
  return { ...why, causes: [...why.causes, reason(cause('changed', { revision }))] }
}

/** Returns true if clients of an older revision see a different item. */
const isChangedFor = (
  context: ControlApiContext,
  { view, list, own, raw }: Found,
  revision: string | undefined,
): boolean => {
  if (revision === undefined || !isLegacyRevision(revision)) return false
  const item = mergedItems(context, list).find(one => one.server === view.server && one.own === own)
  if (item === undefined) return false
  const { member, method } = LISTS[list]
  const page = objectText([[member, arrayText([item.text])]])
  // Only servers that announce tasks may say that a tool runs as one.
  const hasLess = memberOf(raw, 'execution') !== undefined && memberOf(item.text, 'execution') === undefined
  return hasLess || projectLegacyResult(revision, method, page) !== page
}

const explainItem = (context: ControlApiContext, query: string, item: Found): Why => {
  const { view, list, own } = item
  const { name } = view.server
  const base = { version: 1, query, kind: KINDS[list], server: name, own } as const
  const gone = leftOutFor(context, item)
  if (gone.length > 0) {
    const [{ verdict } = { verdict: 'hidden' as const }] = gone
    return {
      ...base,
      about: serverVerdict(context, view.server, list),
      verdict,
      answered: false,
      causes: gone,
    }
  }
  const { answered, locked, state } = lockedReachOf(context, item)
  const about = serverVerdict(context, view.server, list)
  // Clients can also read a listed resource by the server's own URI.
  const byList: readonly Reason[] =
    (list === 'resources' || list === 'skills') && query === own && view.exposeUri(own) !== own
      ? [reason(cause('uri-by-list', { server: name, uri: view.exposeUri(own) }, name))]
      : []
  const found = list === 'tools' ? searches(context) : []
  const rules = rulesAbout(context, item)
  const causes = [...rules.causes, ...byList, ...changesOf(context, item, query), ...found, ...state]
  if (rules.isDenied) return { ...base, about, verdict: 'denied', answered: false, causes }
  const verdict = (answered ? [...byList, ...locked] : state)[0]?.verdict ?? 'shown'
  return { ...base, about, verdict, answered, causes }
}

/** Returns whether calls of an item are answered, its differences from the lock file, and all reasons. */
const lockedReachOf = (context: ControlApiContext, { view, list, own, raw }: Found) => {
  const server = view.server.name
  const reach = reachOf(context, server, list)
  const { states: [state] = [], differences = [] } = view.exposure.lock?.read(list, [raw]) ?? {}
  const locked = differences.map(({ change, fields }) => {
    const facts = { item: `${server}/${own}`, fields: fields.join(', ') }
    return reason(cause(change === 'added' ? 'changed-since-lock.new' : 'changed-since-lock', facts, server))
  })
  const answered = reach.answered && state?.isHidden !== true
  return { answered, locked, state: [...locked, ...reach.causes] }
}

/** Lists the clients that find tools by search only. */
const searches = ({ router }: ControlApiContext): readonly Reason[] =>
  exposed(router).flatMap(({ client, view, mode, why }): readonly Reason[] => {
    if (mode === 'direct') return []
    return [reason(cause('remark', { client, view, reason: why }))]
  })

/** Returns the reasons why clients do not see an item. Empty if they see it. */
const leftOutFor = (context: ControlApiContext, { view, list, own, raw }: Found): readonly Reason[] => {
  const config = configOf(context, view)
  if (list === 'tools' && config !== undefined && !view.tools.isAllowed(own))
    return hidden(context, config, own)
  const repaired = repairItem(list, raw)
  return 'dropped' in repaired ? [reason(cause('broken', { what: repaired.dropped }))] : []
}

const hidden = (
  context: ControlApiContext,
  { name, tools }: ServerConfig,
  own: string,
): readonly Reason[] => {
  const at = tools.deny.findIndex(glob => matcherOf([glob])(own))
  const pattern = tools.deny[at]
  if (pattern === undefined) {
    const place = placed(context, ...inServer(name, 'allow'))
    return [reason(cause('hidden.allow', { server: name }, name), place)]
  }
  const place = placed(context, ...inServer(name, 'deny', String(at)))
  return [reason(cause('hidden.deny', { server: name, index: at, pattern }, name), { pattern, ...place })]
}

// ── unlisted names ──

/** Explains a name with the prefix of a server that does not list it, or whose list was not read. */
const ofPrefix = (context: ControlApiContext, query: string): Why | undefined => {
  for (const view of context.router.catalog.views.values()) {
    const { alias, name } = view.server.options
    if (!view.exposure.prefix || !query.startsWith(`${alias}__`)) continue
    const base = {
      version: 1,
      query,
      kind: 'tool',
      server: name,
      own: query.slice(alias.length + 2),
    } as const
    const { causes: state } = reachOf(context, name, 'tools')
    const causes = [...absentCauses(context, view, { own: base.own, query, state }), ...state]
    return { ...base, verdict: causes[0]?.verdict ?? 'unknown', answered: false, causes }
  }
  return undefined
}

/** Explains why the exposed tools of a server do not include a name. */
const absentCauses = (
  context: ControlApiContext,
  view: ServerView,
  { own, query, state }: { readonly own: string; readonly query: string; readonly state: readonly Reason[] },
): readonly Reason[] => {
  const { name: server } = view.server
  const summary = context.router.catalog.summary(view.server, [...view.server.connections])
  const known = summary.listed('tools')?.raw
  if (known?.some(raw => textMember(raw, 'name') === own) === true)
    return [renamed(context, view, { own, query })]
  const isCut = isFull(known, view.server) || summary.truncated.includes('tools')
  const isUnread = known === undefined && !state.some(({ verdict }) => verdict === 'list-not-read')
  return [
    ...(isCut ? [reason(cause('cut-off', { server }, server))] : []),
    ...(isUnread ? [reason(cause('list-not-read.yet', { server }, server))] : []),
    ...(known === undefined
      ? []
      : [reason(cause('unknown.tool', { hint: hintFor(context, query) }, server))]),
  ]
}

/** Explains a name or URI of a disabled, misconfigured or removed server. */
const ofAbsent = (context: ControlApiContext, query: string): Why | undefined => {
  const removed = context.router.owners.removed(query)
  const [named = ''] = query.split(/__|\+/, 1)
  const server = removed ?? named
  const kind = removed === query ? 'server' : query.includes('__') ? 'tool' : 'resource'
  const known = server === query ? undefined : ofServer(context, server)
  if (known !== undefined) return { ...known, query, kind }
  if (removed === undefined) return undefined
  const causes = [reason(cause('removed', {}, server))]
  return { version: 1, query, kind, server, verdict: 'removed', answered: false, causes }
}

const hintFor = (context: ControlApiContext, query: string): string => {
  const known = mergedItems(context, 'tools').map(({ exposed }) => exposed)
  const servers = [...context.router.pool.servers, ...context.config().waiting].map(({ name }) => name)
  const near = suggest(query, [...known, ...servers])
  return near === undefined ? '' : `; did you mean ${near}?`
}

const unknown = (context: ControlApiContext, query: string): Why => {
  const causes = [reason(cause('unknown.name', { hint: hintFor(context, query) }))]
  return { version: 1, query, kind: 'unknown', verdict: 'unknown', answered: false, causes }
}
