import { createHash, randomBytes } from 'node:crypto'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { createSealer, type Sealer, type SealKey } from '../../mux/input-required/retry/sealed-state.js'
import { keptKey } from './state-key.js'

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
