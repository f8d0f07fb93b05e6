import { isObject } from '../kernel/object.js'
import type { Change } from './edit/change.js'
import { openFile } from './files/edit-file.js'
import { type Files, hashOf, replaceFile } from './files/revise.js'
import { SetupError } from './setup-error.js'

/** Characters that picomatch takes literally, also within `!(…)`. */
const LITERAL = /[^\p{L}\p{N}_ .-]/gu

/** A glob of all server names but these. */
export const allBut = (names: readonly string[]): string =>
  `!(${names.map(name => name.replace(LITERAL, '\\$&')).join('|')})`

/** The names that such a glob leaves out; undefined for any other glob. @internal */
export const leftOutBy = (glob: unknown): readonly string[] | undefined => {
  const [, inner] = typeof glob === 'string' ? (/^!\(((?:\\.|[^\\()])*)\)$/su.exec(glob) ?? []) : []
  return inner?.match(/(?:\\.|[^\\|])+/gsu)?.map(part => part.replace(/\\(.)/gsu, '$1'))
}

/** The views of our file: the servers that each leaves out, or undefined for a user's own view. */
export const viewsIn = (root: unknown): ReadonlyMap<string, readonly string[] | undefined> => {
  const views = isObject(root) && isObject(root['views']) ? root['views'] : {}
  return new Map(
    Object.entries(views).map(([name, view]) => {
      const servers = isObject(view) && Object.keys(view).length === 1 ? view['servers'] : undefined
      const isOurs = Array.isArray(servers) && servers.length === 1
      return [name, isOurs ? leftOutBy(servers[0]) : undefined]
    }),
  )
}

/**
 * Writes views that leave out these servers, and removes those without any. Resolves with whether the file
 * changed. Rejects with a SetupError.
 */
export const writeViews = async (
  files: Files,
  path: string,
  views: ReadonlyMap<string, readonly string[] | undefined>,
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
  views: ReadonlyMap<string, readonly string[] | undefined>,
  known: unknown,
): readonly Change[] => {
  const left = new Set(Object.keys(isObject(known) ? known : {}))
  const changes = [...views].flatMap(([name, names]): Change[] => {
    if (names !== undefined) return [{ at: ['views', name], name: 'servers', value: [allBut(names)] }]
    return left.delete(name) ? [{ at: ['views'], name, value: undefined }] : []
  })
  const isEmpty = left.size === 0 && changes.every(({ value }) => value === undefined)
  return isEmpty && changes.length > 0 ? [{ at: [], name: 'views', value: undefined }] : changes
}
