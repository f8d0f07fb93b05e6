import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

const FILE = 'request-state.key'
const KEY_BYTES = 32

/** The folder for what should outlive a process but is nobody's data (XDG Base Directory Specification). */
export const stateDir = (env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string => {
  const home = homedir()
  const [named, usual] =
    platform === 'win32'
      ? [env['LOCALAPPDATA'], join(home, 'AppData', 'Local')]
      : [env['XDG_STATE_HOME'], join(home, '.local', 'state')]
  // A relative path there must be ignored.
  return join(named !== undefined && isAbsolute(named) ? named : usual, 'mcp-proxy')
}

/**
 * The key that this user's proxies share, 32 bytes: read from `dir`, or made and kept there for nobody else to read. Throws
 * what the file system throws if it cannot be kept.
 */
export const keptKey = (dir: string): Uint8Array => {
  const path = join(dir, FILE)
  const found = read(path)
  if (found?.key !== undefined) return found.key
  if (found !== undefined) rmSync(path)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  create(path)
  // Another proxy may have been first: then its key is everybody's.
  const kept = read(path)?.key
  if (kept === undefined) throw new Error('the key that was written cannot be read')
  return kept
}

/** The key in a file; one that is broken is none. Undefined if there is no file. */
const read = (path: string): { readonly key: Uint8Array | undefined } | undefined => {
  try {
    const text = readFileSync(path, 'utf8').trim()
    const key = Buffer.from(text, 'base64')
    return { key: key.length === KEY_BYTES && key.toString('base64') === text ? key : undefined }
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

/** Puts a new key there whole or not at all, and not over another one. */
const create = (path: string): void => {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(draft, path)
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return
    // Some file systems have no links.
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
}

const codeOf = (thrown: unknown): unknown =>
  thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
