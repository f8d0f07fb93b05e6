import { createHash, hkdfSync, randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { ProxyConfig } from '../config/types.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import { homeFolder } from '../kernel/machine/who-am-i.js'
import type { SealKey } from '../kernel/secrets/text-seal.js'
import { createSealer, type Sealer } from '../mux/input-required/retry/sealed-state.js'
import { createPrivateSync, findFile } from './private-file.js'

const FILE = 'request-state.key'
const KEY_BYTES = 32
const FILE_BYTES = 1024

/** Returns the folder for state (XDG Base Directory Specification). */
export const stateDir = (env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string => {
  const home = homeFolder()
  const [named, usual] =
    platform === 'win32'
      ? [env['LOCALAPPDATA'], join(home, 'AppData', 'Local')]
      : [env['XDG_STATE_HOME'], join(home, '.local', 'state')]
  // The specification requires ignoring relative paths.
  return join(named !== undefined && isAbsolute(named) ? named : usual, 'mcp-proxy')
}

/**
 * Returns the key that this user's proxies share. Replaces an invalid or exposed key. Throws if it cannot be
 * stored.
 */
export const keptKey = (dir: string, onExposed: (path: string) => void = () => undefined): Uint8Array => {
  const path = join(dir, FILE)
  const found = findFile(path, FILE_BYTES)
  const key = keyIn(found?.bytes)
  if (key !== undefined && found?.isSecret === true) return key
  if (found?.isSecret === false) onExposed(path)
  if (found !== undefined) rmSync(path)
  createPrivateSync(path, `${randomBytes(KEY_BYTES).toString('base64')}\n`)
  // If another proxy wrote a key first, all use that one.
  const kept = keyIn(findFile(path, FILE_BYTES)?.bytes)
  if (kept === undefined) throw new Error('cannot read the key after writing it')
  return kept
}

const keyIn = (bytes: Buffer | undefined): Uint8Array | undefined => {
  const text = bytes?.toString().trim() ?? ''
  const key = Buffer.from(text, 'base64')
  return key.length === KEY_BYTES && key.toString('base64') === text ? key : undefined
}

/** Returns the sealer of a proxy. `dir` is the state folder and defaults to the user's. */
export const sealerOf = (config: ProxyConfig, dir: string | undefined, log: Logger): Sealer =>
  createLazySealer({ configured: stateKeysOf(config), dir: dir ?? stateDir(process.env), log })

/** Without configured keys, replicas derive them from their shared cluster keys. */
const stateKeysOf = ({
  stateKeys,
  cluster,
}: Pick<ProxyConfig, 'stateKeys' | 'cluster'>): readonly string[] => {
  if (stateKeys.length > 0) return stateKeys
  return replicaKeys(cluster?.keys ?? [], 'request-state').map(key => Buffer.from(key).toString('base64'))
}

/** Derives keys for a purpose from the replicas' shared keys. The first one seals. */
export const replicaKeys = (keys: readonly string[], purpose: string): readonly Uint8Array[] =>
  keys.map(key => {
    const secret = Buffer.from(key, 'base64')
    return Buffer.from(hkdfSync('sha256', secret, '', `mcp-proxy cluster ${purpose}`, KEY_BYTES))
  })

export interface KeySource {
  /** Keys of 32 bytes in base64, newest first. */
  readonly configured: readonly string[]
  /** The folder of the generated key, used without configured keys. */
  readonly dir: string
  readonly log: Logger
}

/**
 * Returns a sealer that loads its keys on first use: most proxies need none. Never throws for a missing key.
 */
export const createLazySealer = (source: KeySource): Sealer => {
  let sealer: Sealer | undefined
  const load = (): Sealer => {
    sealer ??= createSealer({ keys: keysOf(source), nowMs: () => Date.now() })
    return sealer
  }
  return {
    seal: (state, ttlMs) => load().seal(state, ttlMs),
    open: text => load().open(text),
    sealTask: task => load().sealTask(task),
    openTask: text => load().openTask(text),
  }
}

const keysOf = (source: KeySource): readonly SealKey[] =>
  keptKeysOf(source, ['request states', 'a restart will invalidate them']) ?? [
    toSealKey(randomBytes(KEY_BYTES)),
  ]

/** Returns the keys for session ids. Returns undefined if no key can be kept. */
export const sessionKeysOf = (source: KeySource): readonly SealKey[] | undefined =>
  keptKeysOf(source, ['session ids', 'sessions will end with the proxy'])

const keptKeysOf = (
  { configured, dir, log }: KeySource,
  [what, effect]: readonly [what: string, effect: string],
): readonly SealKey[] | undefined => {
  if (configured.length > 0) return configured.map(text => toSealKey(Buffer.from(text, 'base64')))
  try {
    const onExposed = (file: string): void =>
      log.warn({ file }, `replaced the key for ${what}: other users could read or write it`)
    return [toSealKey(keptKey(dir, onExposed))]
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : Fault.from(thrown).message
    log.warn({ dir, why }, `cannot keep a key for ${what}: ${effect}`)
    return undefined
  }
}

const toSealKey = (key: Uint8Array): SealKey => ({
  kid: createHash('sha256').update(key).digest('base64url').slice(0, 8),
  key,
})
