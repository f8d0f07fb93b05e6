import { matcherOf } from '../kernel/globs.js'
import { isObject } from '../kernel/object.js'
import type { FileChange } from './edit/change.js'
import { openFile } from './files/edit-file.js'
import { type Files, hashOf, replaceFile } from './files/revise.js'
import { SetupError } from './setup-error.js'

/** Characters that picomatch takes literally, also within `!(…)`. */
const LITERAL = /[^\p{L}\p{N}_ .-]/gu

/** A glob of all server names but these. */
const allBut = (names: readonly string[]): string =>
  `!(${names.map(name => name.replace(LITERAL, '\\$&')).join('|')})`

/** The names that such a glob leaves out; undefined for any other glob. */
const leftOutBy = (glob: unknown): readonly string[] | undefined => {
  const [, inner] = typeof glob === 'string' ? (/^!\(((?:\\.|[^\\()])*)\)$/su.exec(glob) ?? []) : []
  return inner?.match(/(?:\\.|[^\\|])+/gsu)?.map(part => part.replace(/\\(.)/gsu, '$1'))
}

/** The views of our file: the servers that each leaves out, or undefined for a user's own view. */
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
 * The member of our file that could show a client search tools, whatever its view is; undefined if a view of
 * ours can rule them out. `view` is the name of a view that the user made.
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

/** A view of ours. */
export interface WantedView {
  /** The servers that it leaves out. */
  readonly without: readonly string[]
  /** Whether it never shows search tools, by which a client could get round its rules for tools. */
  readonly isDirect: boolean
}

/**
 * Writes these views, and removes undefined ones. Resolves with whether the file changed. Rejects with a
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
