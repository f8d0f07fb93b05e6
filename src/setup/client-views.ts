import { matcherOf } from '../kernel/globs.js'
import { isObject } from '../kernel/object.js'
import type { FileChange } from './edit/change.js'
import { openFile } from './files/edit-file.js'
import { type Files, hashOf, replaceFile } from './files/revise.js'
import { SetupError } from './setup-error.js'

/** Characters that picomatch treats as special; all others are literal, also within `!(…)`. */
const LITERAL = /[^\p{L}\p{N}_ .-]/gu

/** Returns a glob for all server names except these. */
const allBut = (names: readonly string[]): string =>
  `!(${names.map(name => name.replace(LITERAL, '\\$&')).join('|')})`

/** Returns the names that such a glob excludes; undefined for any other glob. */
const leftOutBy = (glob: unknown): readonly string[] | undefined => {
  const [, inner] = typeof glob === 'string' ? (/^!\(((?:\\.|[^\\()])*)\)$/su.exec(glob) ?? []) : []
  return inner?.match(/(?:\\.|[^\\|])+/gsu)?.map(part => part.replace(/\\(.)/gsu, '$1'))
}

/**
 * Returns the views of our file with the servers that each leaves out; undefined for a view that the user
 * wrote.
 */
export const viewsIn = (root: unknown): ReadonlyMap<string, readonly string[] | undefined> => {
  const views = isObject(root) && isObject(root['views']) ? root['views'] : {}
  return new Map(Object.entries(views).map(([name, view]) => [name, leftOutOf(view)]))
}

const leftOutOf = (view: unknown): readonly string[] | undefined => {
  if (!isObject(view)) return undefined
  const { servers, expose, ...others } = view
  if (Object.keys(others).length > 0 || (expose !== undefined && expose !== DIRECT)) return undefined
  if (servers === undefined) return expose === DIRECT ? [] : undefined
  return Array.isArray(servers) && servers.length === 1 ? leftOutBy(servers[0]) : undefined
}

const DIRECT = 'direct'

const modeIn = (value: unknown): unknown => {
  const expose = isObject(value) ? value['expose'] : undefined
  return isObject(expose) ? expose['mode'] : expose
}

/**
 * Returns the member of our file that may show a client search tools whatever its view is; undefined if a
 * generated view can prevent that. `view` names a view that the user made.
 */
export const searchRuleFor = (root: unknown, client: string, view?: string): string | undefined => {
  const { clients, views } = isObject(root) ? root : {}
  const rules = Object.entries(isObject(clients) ? clients : {})
  const [glob, rule] =
    rules.find(
      ([name, each]) => isObject(each) && each['expose'] !== undefined && matcherOf([name])(client),
    ) ?? []
  const mode = modeIn(rule)
  if (mode !== undefined) return mode === DIRECT ? undefined : `clients.${glob}`
  if (view === undefined || modeIn(isObject(views) ? views[view] : undefined) === DIRECT) return undefined
  return `views.${view}`
}

/** A generated view. */
export interface WantedView {
  /** Servers that it leaves out. */
  readonly without: readonly string[]
  /** Disables search tools, through which a client could bypass its rules for tools. */
  readonly isDirect: boolean
}

/**
 * Writes these views and removes undefined ones. Resolves with whether the file changed. Rejects with a
 * SetupError.
 */
export const writeViews = async (
  files: Files,
  path: string,
  views: ReadonlyMap<string, WantedView | undefined>,
): Promise<boolean> => {
  const { state, value, edited } = await openFile(files, path, 'jsonc')
  const root = isObject(value) ? value : {}
  const changes = changesFor(views, root['views'])
  if (changes.length === 0) return false
  if (!CONTAINERS.some(key => key in root)) {
    const fix = `move the servers of ${path} into "mcpServers"`
    throw new SetupError(path, 'its servers are not in "mcpServers", so it cannot have views', 0, fix)
  }
  const bytes = edited(changes)
  if (hashOf(bytes) === hashOf(state.bytes)) return false
  await replaceFile(files, state, bytes)
  return true
}

const CONTAINERS = ['mcpServers', 'servers', 'context_servers']

const changesFor = (
  views: ReadonlyMap<string, WantedView | undefined>,
  known: unknown,
): readonly FileChange[] => {
  const old = isObject(known) ? known : {}
  const left = new Set(Object.keys(old))
  const changes = [...views].flatMap(([name, view]): FileChange[] => {
    if (view === undefined) return left.delete(name) ? [{ at: ['views'], name, value: undefined }] : []
    const at = ['views', name]
    const all = view.without.length === 0
    const before = isObject(old[name]) ? old[name] : {}
    return [
      ...(all ? [] : [{ at, name: 'servers', value: [allBut(view.without)] }]),
      ...(all && 'servers' in before ? [{ at, name: 'servers', value: undefined }] : []),
      ...(view.isDirect ? [{ at, name: 'expose', value: DIRECT }] : []),
    ]
  })
  const isEmpty = left.size === 0 && changes.every(({ value }) => value === undefined)
  return isEmpty && changes.length > 0 ? [{ at: [], name: 'views', value: undefined }] : changes
}
