import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { createSealer, type Sealer, type SealKey } from '../../mux/input-required/retry/sealed-state.js'
import { isPrivate } from './private-file.js'

const FILE = 'request-state.key'
const KEY_BYTES = 32
const OTHERS_MAY_READ = 0o077

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
 * The key that this user's proxies share, 32 bytes: read from `dir`, or made and kept there for nobody else to read. One that others
 * could read or write is replaced, and told to `onExposed` with its path. Throws what the file system throws if it cannot be kept.
 */
export const keptKey = (dir: string, onExposed: (path: string) => void = () => undefined): Uint8Array => {
  const path = join(dir, FILE)
  const found = read(path)
  if (found?.key !== undefined && !found.isExposed) return found.key
  if (found?.isExposed === true) onExposed(path)
  if (found !== undefined) rmSync(path)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  create(path)
  // Another proxy may have been first: then its key is everybody's.
  const kept = read(path)?.key
  if (kept === undefined) throw new Error('the key that was written cannot be read')
  return kept
}

/** What stands in the place of the key. */
interface Found {
  /** Undefined for a file that holds none. */
  readonly key: Uint8Array | undefined
  /** Whether anybody else may know it, or have put it there. */
  readonly isExposed: boolean
}

/** Undefined if there is no file. */
const read = (path: string): Found | undefined => {
  try {
    // The same file, whatever takes its place meanwhile.
    const file = openSync(path, 'r')
    try {
      const found = fstatSync(file)
      const text = readFileSync(file, 'utf8').trim()
      const key = Buffer.from(text, 'base64')
      const isKey = key.length === KEY_BYTES && key.toString('base64') === text
      return { key: isKey ? key : undefined, isExposed: !isPrivate(found, OTHERS_MAY_READ) }
    } finally {
      closeSync(file)
    }
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

/** Where the keys of a sealer come from. */
export interface KeySource {
  /** 32 bytes in base64 each, the newest first. */
  readonly configured: readonly string[]
  /** The folder of the key that is made where none is configured. */
  readonly dir: string
  readonly log: Logger
}

/** A sealer that gets its keys when it is first used: most proxies start and end without. Never throws for want of a key. */
export const createLazySealer = (source: KeySource): Sealer => {
  let sealer: Sealer | undefined
  const made = (): Sealer => {
    sealer ??= createSealer({ keys: keysOf(source), nowMs: () => Date.now() })
    return sealer
  }
  return {
    seal: (state, ttlMs) => made().seal(state, ttlMs),
    open: text => made().open(text),
  }
}

const keysOf = ({ configured, dir, log }: KeySource): SealKey[] => {
  if (configured.length > 0) return configured.map(text => named(Buffer.from(text, 'base64')))
  try {
    const onExposed = (file: string): void =>
      log.warn({ file }, 'the key for request states could be read or written by others, and is replaced')
    return [named(keptKey(dir, onExposed))]
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : Fault.from(thrown).message
    log.warn(
      { dir, why },
      'cannot keep a key for request states: what clients carry is worth nothing after a restart',
    )
    return [named(randomBytes(32))]
  }
}

/** Its name says which key it is and nothing about it. */
const named = (key: Uint8Array): SealKey => ({
  kid: createHash('sha256').update(key).digest('base64url').slice(0, 8),
  key,
})
