import { delimiter, join } from 'node:path'
import type { ClientMachine } from '../clients/machine.js'

/** Folders that a manager of versions removes with the version. */
const VERSION_FOLDER = /[/\\](?:Cellar|\.nvm[/\\]versions|\.?fnm|\.?volta|\.?asdf|mise[/\\]installs)[/\\]/

/** The folder in which npx keeps what it has run; it may be gone tomorrow. */
export const isInNpxCache = (path: string): boolean => /[/\\]_npx[/\\]/.test(path)

/** Why a path may be gone after an update, in words; undefined for one that lasts. */
export const whyFrail = (path: string): string | undefined => {
  if (isInNpxCache(path)) return 'it is in the cache of npx, which may be gone tomorrow'
  return VERSION_FOLDER.test(path) ? 'it is in a folder of one version, which an update removes' : undefined
}

/** A path, and whether it is there after an update of what it leads to. */
export interface LastingPath {
  readonly path: string
  readonly isLasting: boolean
}

type RealPath = (path: string) => Promise<string>

/**
 * The path of Node that lasts: the first `node` on PATH that is the one that runs, and in no folder of a
 * single version, otherwise the path of that one.
 */
export const lastingNode = async (
  machine: ClientMachine,
  running: string,
  realpath: RealPath,
): Promise<LastingPath> => {
  const ours = await realpath(running).catch(() => running)
  const name = machine.platform === 'win32' ? 'node.exe' : 'node'
  const path = await onPath(machine, name, async found => (await realpath(found)) === ours)
  return path === undefined ? { path: running, isLasting: isLasting(running) } : { path, isLasting: true }
}

/** The same for our own script, which is found on PATH as `mcp-proxy`. */
export const lastingScript = async (
  machine: ClientMachine,
  running: string,
  realpath: RealPath,
): Promise<LastingPath> => {
  const isOurs = async (path: string): Promise<boolean> =>
    (await realpath(path).catch(() => undefined)) === (await realpath(running))
  // pnpm keeps each version in a folder of its own, beside a link to the one that is installed.
  const linked = running.replace(PNPM_FOLDER, '')
  if (linked !== running && (await isOurs(linked))) return { path: linked, isLasting: isLasting(linked) }
  if (isLasting(running)) return { path: running, isLasting: true }
  const path = await onPath(machine, 'mcp-proxy', isOurs)
  return path === undefined ? { path: running, isLasting: false } : { path, isLasting: true }
}

const PNPM_FOLDER = /\.pnpm[/\\][^/\\]+[/\\]/

const isLasting = (path: string): boolean => !VERSION_FOLDER.test(path)

const onPath = async (
  { env }: ClientMachine,
  name: string,
  isOurs: (path: string) => Promise<boolean>,
): Promise<string | undefined> => {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name)
    if (folder !== '' && isLasting(path) && (await isOurs(path).catch(() => false))) return path
  }
  return undefined
}
