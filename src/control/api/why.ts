import type { ServerView } from '../../catalog/lists/server-view.js'
import { exposedName } from '../../catalog/names/names.js'
import { repairItem } from '../../catalog/repair/items.js'
import { suggest } from '../../config/schema/suggest.js'
import type { ServerConfig } from '../../config/types.js'
import { projectLegacyResult } from '../../eras/index.js'
import { isErrorId, RUN } from '../../kernel/error-ids.js'
import { Fault } from '../../kernel/faults.js'
import { matcherOf } from '../../kernel/globs.js'
import { arrayText, type JsonText, objectText, textMember } from '../../kernel/json/text.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { visibleText } from '../../kernel/secrets/plain-text.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import { isLegacyRevision } from '../../model/revision.js'
import { exposed } from '../../telemetry/status/exposed.js'
import { statusOfServer } from '../../telemetry/status/status.js'
import type { ControlApiContext } from './context.js'
import { fixFor } from './fixes.js'
import { inServer, placed } from './places.js'
import { ambiguous, ofOnlyServer, ofUri, rawsOf } from './uri-routes.js'
import {
  ageText,
  causesOf,
  type Explanation,
  isAnsweredBy,
  isFull,
  notListed,
  numberedVerdict,
  type Reason,
  reachOf,
  serverVerdict,
  TRUNCATED,
  UNREAD_LIST,
  type Why,
} from './verdicts.js'
import { mergedItems } from './views.js'

export type { Reason, Why } from './verdicts.js'

const KINDS = { tools: 'tool', prompts: 'prompt', resources: 'resource', templates: 'template' } as const
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
  return numberedVerdict(
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

const ofError = ({ router }: ControlApiContext, query: string): Why | undefined => {
  const error = router.faults.of(query)
  const base = { version: 1, query, kind: 'error' } as const
  if (error !== undefined) {
    const causes = (error.causes ?? []).map((words): Reason => ({ verdict: 'error', words }))
    const { server, name: own } = error
    return { ...base, verdict: 'error', answered: true, server, own, causes, fix: fixFor(error), error }
  }
  // Without errors in this process, such as when no proxy runs, there are no ids to suggest.
  const own = router.faults.all.length === 0 ? '' : `; the ids of this run begin with ${RUN}-`
  const words = query.startsWith(`${RUN}-`)
    ? 'it is not among the last 1,000 errors of this run'
    : `it belongs to another run, or to mcp-proxy connect, which answers while no proxy runs${own}`
  return { ...base, verdict: 'unknown', answered: false, causes: [{ verdict: 'unknown', words }] }
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
    return { ...base, verdict: 'disabled', answered: false, causes: [DISABLED_HERE] }
  const problems = context.problems().filter(({ key }) => key.split('.')[1] === query)
  const off = switchedOffAt(context, query)
  if (off !== undefined) return { ...base, verdict: 'disabled', answered: false, causes: [off] }
  if (problems.length === 0) return undefined
  const causes = problems.map(({ id: doctor = 'D011', message, fix, file, line, column }): Reason => {
    return { verdict: 'misconfigured', words: `${message}. ${fix}`, doctor, file, line, column }
  })
  return { ...base, verdict: 'misconfigured', answered: false, causes }
}

const DISABLED_HERE: Reason = {
  verdict: 'disabled',
  words: 'it is disabled until its entry in the file changes',
}

/** Returns the cause for a server that the configuration file disables. */
const switchedOffAt = (context: ControlApiContext, server: string): Reason | undefined => {
  const place = placed(context, ['mcpServers', server, 'disabled'])
  return place.line === undefined
    ? undefined
    : { verdict: 'disabled', words: '"disabled" in the file', ...place }
}

// ── names ──

interface Found {
  readonly view: ServerView
  readonly list: ListName
  readonly own: string
  readonly raw: JsonText
}

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
  if (list === 'resources' || list === 'templates') return [view.exposeUri(own), own]
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
  const words = `clients of ${revision ?? ''} see it without unsupported members`
  return changed ? { ...why, causes: [...why.causes, { verdict: 'changed', words }] } : why
}

/** Returns true if clients of an older revision see a different item. */
const isChangedFor = (
  context: ControlApiContext,
  { view, list, own }: Found,
  revision: string | undefined,
): boolean => {
  if (revision === undefined || !isLegacyRevision(revision)) return false
  const item = mergedItems(context, list).find(one => one.server === view.server && one.own === own)
  if (item === undefined) return false
  const { member, method } = LISTS[list]
  const page = objectText([[member, arrayText([item.text])]])
  return projectLegacyResult(revision, method, page) !== page
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
  const { answered, causes: state } = reachOf(context, name, list)
  const about = serverVerdict(context, view.server, list)
  // Clients can also read a listed resource by the server's own URI.
  const byList: readonly Reason[] =
    list === 'resources' && query === own && view.exposeUri(own) !== own
      ? [
          {
            verdict: 'uri-by-list',
            words: `${name} alone lists it, as ${view.exposeUri(own)}`,
          },
        ]
      : []
  const found = list === 'tools' ? searches(context) : []
  const causes = [...byList, ...changesOf(context, item), ...found, ...state]
  const verdict = (answered ? byList : state)[0]?.verdict ?? 'shown'
  return { ...base, about, verdict, answered, causes }
}

/** Lists the clients that find tools by search only. */
const searches = ({ router }: ControlApiContext): readonly Reason[] =>
  exposed(router).flatMap(({ client, view, mode, why }): readonly Reason[] => {
    if (mode === 'direct') return []
    const words = `${client} (view ${view}) finds it by find_tools, unless it is pinned: ${why}`
    return [{ verdict: 'remark', words }]
  })

/** Returns the reasons why clients do not see an item. Empty if they see it. */
const leftOutFor = (context: ControlApiContext, { view, list, own, raw }: Found): readonly Reason[] => {
  const config = configOf(context, view)
  if (list === 'tools' && config !== undefined && !view.tools.isAllowed(own))
    return hidden(context, config, own)
  const repaired = repairItem(list, raw)
  return 'dropped' in repaired ? [{ verdict: 'broken', words: repaired.dropped }] : []
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
    return [{ verdict: 'hidden', words: 'tools.allow does not include it', ...place }]
  }
  const place = placed(context, ...inServer(name, 'deny', String(at)))
  return [{ verdict: 'hidden', words: `tools.deny[${at}] "${pattern}"`, pattern, ...place }]
}

const REPEATED: Reason = { verdict: 'repeated', words: 'its name is repeated; the first one is shown' }

/** Returns the differences between the server's item and the exposed item. */
const changesOf = (context: ControlApiContext, found: Found): readonly Reason[] => {
  const { view, list, own, raw } = found
  const repaired = repairItem(list, raw)
  const notes = 'dropped' in repaired ? [] : repaired.notes
  const twins = rawsOf(context, view, list).filter(other => textMember(other, LISTS[list].identity) === own)
  return [
    ...(twins.length > 1 ? [REPEATED] : []),
    ...(list === 'tools' ? toolChanges(context, found) : []),
    ...(list === 'tools' || list === 'prompts' ? nameChanges(context, { view, list, own }) : []),
    ...notes.map((words): Reason => ({ verdict: 'repaired', words })),
  ]
}

const toolChanges = (context: ControlApiContext, { view, own }: Found): readonly Reason[] => {
  const { name } = view.server
  const renamed = view.tools.renamed(own)
  const override = configOf(context, view)?.tools.override[own]
  const sinceMs = view.schemaWithdrawnMs(own)
  const rule = (verdict: Explanation, words: string, key: string): Reason => {
    return { verdict, words, ...placed(context, ...inServer(name, key, own)) }
  }
  return [
    ...(renamed === own ? [] : [rule('renamed', `tools.rename calls it ${renamed}`, 'rename')]),
    ...(override === undefined
      ? []
      : [rule('overridden', 'tools.override replaces parts of it', 'override')]),
    ...(sinceMs === undefined ? [] : [withdrawn(Date.now() - sinceMs)]),
  ]
}

const withdrawn = (agoMs: number): Reason => {
  const words = `it returned no structured content ${ageText(agoMs)} ago; its outputSchema is hidden`
  return { verdict: 'output-schema-withdrawn', words }
}

const nameChanges = (
  context: ControlApiContext,
  {
    view,
    list,
    own,
  }: { readonly view: ServerView; readonly list: 'tools' | 'prompts'; readonly own: string },
): readonly Reason[] => {
  const renamed = list === 'tools' ? view.tools.renamed(own) : own
  const whole = view.exposure.prefix ? `${view.server.options.alias}__${renamed}` : renamed
  const exposed = view.exposeName(list, own)
  const shown = mergedItems(context, list).find(
    item => item.server === view.server && item.own === own,
  )?.exposed
  const clash =
    shown === undefined
      ? 'its name is taken by another server: give the server a prefix'
      : `its name was taken; it is exposed as ${shown}`
  return [
    ...(exposed === whole ? [] : [{ verdict: 'shortened', words: shortenedWords(whole, exposed) } as const]),
    ...(shown === exposed ? [] : [{ verdict: 'prefixed', words: clash } as const]),
  ]
}

const shortenedWords = (whole: string, exposed: string): string => {
  const strange = [...new Set(whole.match(/[^A-Za-z0-9_-]/gu))].map(visibleText).join(' ')
  const why =
    strange === ''
      ? `${whole} is too long by ${whole.length - exposed.length} characters`
      : `these characters are not allowed: ${strange}`
  return `${sanitizeLine(why, 256)}; clients see ${exposed}`
}

const configOf = ({ configOf: find }: ControlApiContext, view: ServerView): ServerConfig | undefined =>
  find(view.server.options)

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
    const summary = context.router.catalog.summary(view.server, [...view.server.connections])
    const known = summary.listed('tools')?.raw
    const cut = isFull(known, view.server) || summary.truncated.includes('tools') ? TRUNCATED : []
    const { causes: state } = reachOf(context, name, 'tools')
    const isUnread = known === undefined && !state.some(({ verdict }) => verdict === 'list-not-read')
    const unread = isUnread ? UNREAD_LIST : []
    const nowhere = known === undefined ? [] : [notListed(suggestion(context, query))]
    const causes = [...cut, ...unread, ...nowhere, ...state]
    return { ...base, verdict: causes[0]?.verdict ?? 'unknown', answered: false, causes }
  }
  return undefined
}

const REMOVED = 'the server was removed from the configuration after the proxy started'

/** Explains a name or URI of a disabled, misconfigured or removed server. */
const ofAbsent = (context: ControlApiContext, query: string): Why | undefined => {
  const removed = context.router.owners.removed(query)
  const [named = ''] = query.split(/__|\+/, 1)
  const server = removed ?? named
  const kind = removed === query ? 'server' : query.includes('__') ? 'tool' : 'resource'
  const known = server === query ? undefined : ofServer(context, server)
  if (known !== undefined) return { ...known, query, kind }
  if (removed === undefined) return undefined
  const causes: readonly Reason[] = [{ verdict: 'removed', words: REMOVED }]
  return { version: 1, query, kind, server, verdict: 'removed', answered: false, causes }
}

const suggestion = (context: ControlApiContext, query: string): string => {
  const known = mergedItems(context, 'tools').map(({ exposed }) => exposed)
  const servers = [...context.router.pool.servers, ...context.config().waiting].map(({ name }) => name)
  const near = suggest(query, [...known, ...servers])
  return near === undefined ? '' : `; did you mean ${near}?`
}

const unknown = (context: ControlApiContext, query: string): Why => {
  const words = `no server, tool, prompt, resource or error has this name${suggestion(context, query)}`
  const causes: readonly Reason[] = [{ verdict: 'unknown', words }]
  return { version: 1, query, kind: 'unknown', verdict: 'unknown', answered: false, causes }
}
