import { SERVER_CARD } from '../../kernel/server-view.js'
import { DEFAULTS } from '../defaults.js'
import type { ProblemText, Report } from '../file/problem.js'
import { syntaxValueOf } from '../file/syntax.js'
import { members, nodeKindOf, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import { suggest } from '../schema/suggest.js'
import { type SettingsValues, validateSettings } from '../schema/validate.js'
import type { ClientConfig, Expose, ProxyConfig, ViewConfig } from '../types.js'
import { reportMisfits } from './entry.js'

type ViewValues = NonNullable<SettingsValues['views']>[string]
type ClientValues = NonNullable<SettingsValues['clients']>[string]
type ExposeValues = SettingsValues['expose']

/** Replaces an invalid view, which must not show everything. */
const emptyView = (name: string): ViewConfig => ({
  name,
  servers: [],
  tags: undefined,
  tools: { allow: undefined, deny: [] },
  annotations: {},
  resources: false,
  prompts: false,
  scopes: [],
  expose: undefined,
})

const RESERVED_NAME: ProblemText = {
  message: '/mcp/server-card is reserved for a description of the server, so no view has this name',
  fix: 'Choose another name for the view.',
}

/** A name that no client can request. */
const NO_VIEW = ''

/** Reads `views`, `clients` and `expose`. Reports an invalid member, which then shows nothing. */
export const readViews = (
  items: ReadonlyMap<string, TreeItem>,
  { expose }: SettingsValues,
  report: Report,
): Pick<ProxyConfig, 'views' | 'clients' | 'expose'> => {
  const views = [...objectAt(items, 'views', report)].map(([name, item]) =>
    readView(name, item, { items, report }),
  )
  const clients = [...objectAt(items, 'clients', report)].map(([name, item]) =>
    readClient(name, item, { items, report, views }),
  )
  const isLost = clients.some(({ view }) => view === NO_VIEW)
  return {
    views: isLost ? [...views, emptyView(NO_VIEW)] : views,
    clients,
    expose: exposeOf(expose) ?? DEFAULTS.expose,
  }
}

const objectAt = (
  items: ReadonlyMap<string, TreeItem>,
  key: 'views' | 'clients',
  report: Report,
): ReadonlyMap<string, TreeItem> => {
  const item = items.get(key)
  if (item !== undefined && item.node.type !== 'object')
    report.error(item, {
      message: `expected an object, found ${nodeKindOf(item)}`,
      fix: 'Write an object, with a name for each member.',
    })
  return members(item)
}

interface Reading {
  readonly items: ReadonlyMap<string, TreeItem>
  readonly report: Report
}

const readView = (name: string, item: TreeItem, { items, report }: Reading): ViewConfig => {
  const errors = report.errors
  if (name === SERVER_CARD) report.nameError(item, RESERVED_NAME)
  refuseUnknown(item, KEYS.view, report)
  refuseUnknown(members(item).get('tools'), KEYS.viewTools, report)
  const result = validateSettings({ views: { [name]: syntaxValueOf(item) } })
  if (result.is === 'misfit') reportMisfits(result.misfits, items, report)
  const values = result.is === 'fine' ? result.value.views?.[name] : undefined
  return values === undefined || report.errors > errors ? emptyView(name) : viewOf(name, values)
}

const viewOf = (name: string, values: ViewValues): ViewConfig => ({
  name,
  servers: values.servers,
  tags: values.tags,
  tools: { allow: values.tools?.allow, deny: values.tools?.deny ?? [] },
  annotations: values.annotations ?? {},
  resources: values.resources ?? true,
  prompts: values.prompts ?? true,
  scopes: values.scopes ?? [],
  expose: exposeOf(values.expose),
})

const readClient = (
  name: string,
  item: TreeItem,
  { items, report, views }: Reading & { readonly views: readonly ViewConfig[] },
): ClientConfig => {
  const errors = report.errors
  refuseUnknown(item, KEYS.client, report)
  const result = validateSettings({ clients: { [name]: syntaxValueOf(item) } })
  if (result.is === 'misfit') reportMisfits(result.misfits, items, report)
  const values: ClientValues = (result.is === 'fine' ? result.value.clients?.[name] : undefined) ?? {}
  const view = members(item).get('view')
  if (view !== undefined && values.view !== undefined) checkView(view, values.view, views, report)
  return {
    name,
    view: report.errors > errors ? NO_VIEW : values.view,
    maxTools: values.maxTools,
    expose: exposeOf(values.expose),
  }
}

const checkView = (item: TreeItem, view: string, views: readonly ViewConfig[], report: Report): void => {
  const names = ['default', ...views.map(({ name }) => name)]
  if (names.includes(view)) return
  const meant = suggest(view, names)
  report.error(item, {
    message: 'unknown view',
    fix: meant === undefined ? 'Add it to "views", or name one of those.' : `Did you mean "${meant}"?`,
  })
}

/** Unknown keys are errors here, because ignoring one could expose tools. */
const refuseUnknown = (item: TreeItem | undefined, known: readonly string[], report: Report): void => {
  for (const [key, member] of members(item)) {
    if (known.includes(key)) continue
    const meant = suggest(key, known)
    report.nameError(member, {
      message: 'unknown key',
      fix: meant === undefined ? 'Check its spelling, or remove it.' : `Did you mean "${meant}"?`,
    })
  }
}

const exposeOf = (values: ExposeValues): Expose | undefined =>
  typeof values === 'string' ? { mode: values } : values
