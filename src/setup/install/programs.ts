import { delimiter, join } from 'node:path'
import type { ClientMachine } from '../clients/machine.js'

/** Folders that a version manager removes together with the version. */
const VERSION_FOLDER = /[/\\](?:Cellar|\.nvm[/\\]versions|\.?fnm|\.?volta|\.?asdf|mise[/\\]installs)[/\\]/

/** Returns whether a path is in the npx cache, which npm may delete at any time. */
export const isInNpxCache = (path: string): boolean => /[/\\]_npx[/\\]/.test(path)

/** Returns why an update may remove a path; undefined for a stable path. */
export const whyFrail = (path: string): string | undefined => {
  if (isInNpxCache(path)) return 'it is in the cache of npx, which may be gone tomorrow'
  return VERSION_FOLDER.test(path) ? 'it is in a folder of one version, which an update removes' : undefined
}

/** A path, and whether it survives an update of its target. */
export interface StablePath {
  readonly path: string
  readonly isStable: boolean
}

type RealPath = (path: string) => Promise<string>

/**
 * Returns a stable path of Node: the first `node` on PATH that is the running one and not in a version
 * folder, or else the running path.
 */
export const stableNode = async (
  machine: ClientMachine,
  running: string,
  realpath: RealPath,
): Promise<StablePath> => {
  const ours = await realpath(running).catch(() => running)
  const name = machine.platform === 'win32' ? 'node.exe' : 'node'
  const path = await onPath(machine, name, async found => (await realpath(found)) === ours)
  return path === undefined ? { path: running, isStable: isStable(running) } : { path, isStable: true }
}

/** Returns a stable path of our script, which is `mcp-proxy` on PATH. */
export const stableScript = async (
  machine: ClientMachine,
  running: string,
  realpath: RealPath,
): Promise<StablePath> => {
  const isOurs = async (path: string): Promise<boolean> =>
    (await realpath(path).catch(() => undefined)) === (await realpath(running))
  // pnpm keeps each version in a separate folder, next to a link to the installed one.
  const linked = running.replace(PNPM_FOLDER, '')
  if (linked !== running && (await isOurs(linked))) return { path: linked, isStable: isStable(linked) }
  if (isStable(running)) return { path: running, isStable: true }
  const path = await onPath(machine, 'mcp-proxy', isOurs)
  return path === undefined ? { path: running, isStable: false } : { path, isStable: true }
}

const PNPM_FOLDER = /\.pnpm[/\\][^/\\]+[/\\]/

const isStable = (path: string): boolean => !VERSION_FOLDER.test(path)

const onPath = async (
  { env }: ClientMachine,
  name: string,
  isOurs: (path: string) => Promise<boolean>,
): Promise<string | undefined> => {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name)
    if (folder !== '' && isStable(path) && (await isOurs(path).catch(() => false))) return path
  }
  return undefined
}
