import { createHash, hash, randomBytes } from 'node:crypto'
import type { Principal } from '../kernel/caller.js'
import { type Logger, silentLogger } from '../kernel/logger.js'
import type { KeyRing } from './key-ring.js'

const VERSION = 1
const ABOUT = 'session id'
const PLAIN_BYTES = 35
/** Length of `nonce ‖ sealed ‖ tag` in base64url. */
const ID_CHARS = 84
const OWNER_BYTES = 8
const RANDOM_BYTES = 10
const GENERATION_BYTES = 4
const TAG_BYTES = 6

/** Maximum number of cached ids. */
const KNOWN_MAX = 100_000
/** A birth time further ahead of the local clock is logged. */
const AHEAD_MS = 60_000

/** The content of a session id. */
export interface SessionName {
  /** Key of the session in the engine; the id cannot be derived from it. */
  readonly sid: string
  /** The instance that created the session. */
  readonly owner: string
  /** Generation of the engine's data at that time. */
  readonly generation: string
  readonly bornMs: number
  readonly principalTag: string
  /** Declared client capabilities, in two bytes. */
  readonly facts: number
}

export interface BirthFacts {
  readonly owner: string
  readonly generation: string
  readonly nowMs: number
  readonly principal: Principal
  readonly facts: number
}

/** Returns a random generation name in hexadecimal. */
export const newGeneration = (): string => randomBytes(GENERATION_BYTES).toString('hex')
export const NO_GENERATION = '00000000'

/** Returns a hash that identifies a principal without revealing it. */
export const principalTag = (principal: Principal): string =>
  hash('sha256', `principal ${principal}`, 'hex').slice(0, 2 * TAG_BYTES)

/**
 * Creates session ids that name their owner: each replica can route a request by its id alone, and rejects
 * forged ids. AES-256-GCM over version 1, owner 8, random 10, generation 4, birth 4 (seconds), tag of the
 * principal 6, facts 2 bytes.
 */
export class SessionIds {
  readonly #ring: KeyRing
  readonly #log: Logger
  #known = new Map<string, SessionName | undefined>()
  #isSkewLogged = false

  constructor(ring: KeyRing, log: Logger = silentLogger) {
    this.#ring = ring
    this.#log = log
  }

  make({ owner, generation, nowMs, principal, facts }: BirthFacts): string {
    const plain = Buffer.alloc(PLAIN_BYTES)
    let at = plain.writeUInt8(VERSION, 0)
    at += Buffer.from(owner, 'hex').copy(plain, at)
    at += randomBytes(RANDOM_BYTES).copy(plain, at)
    at += Buffer.from(generation, 'hex').copy(plain, at)
    at = plain.writeUInt32BE(Math.floor(nowMs / 1000) >>> 0, at)
    at += Buffer.from(principalTag(principal), 'hex').copy(plain, at)
    plain.writeUInt16BE(facts, at)
    return this.#ring.seal('session-id', ABOUT, plain).toString('base64url')
  }

  /** Returns undefined for an id that no replica created. */
  open(id: string): SessionName | undefined {
    if (id.length !== ID_CHARS) return undefined
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const plain = this.#ring.open('session-id', ABOUT, Buffer.from(id, 'base64url'))
    if (plain?.length !== PLAIN_BYTES || plain[0] !== VERSION) return undefined
    if (this.#known.size >= KNOWN_MAX) this.#known = new Map()
    const name = decode(plain)
    this.#known.set(id, name)
    this.#checkBirth(name)
    return name
  }

  /** Logs clock skew. Clocks do not affect routing, but states and tokens expire. */
  #checkBirth({ owner, bornMs }: SessionName): void {
    const aheadMs = bornMs - Date.now()
    if (aheadMs <= AHEAD_MS || this.#isSkewLogged) return
    this.#isSkewLogged = true
    this.#log.warn(
      { replica: owner, aheadMs },
      'the clock of a replica is ahead of the local one: synchronize both with NTP',
    )
  }
}

const decode = (plain: Buffer): SessionName => {
  let at = 1
  const next = (bytes: number): Buffer => {
    at += bytes
    return plain.subarray(at - bytes, at)
  }
  const owner = next(OWNER_BYTES).toString('hex')
  const random = next(RANDOM_BYTES)
  const generation = next(GENERATION_BYTES).toString('hex')
  const bornMs = next(4).readUInt32BE() * 1000
  const tag = next(TAG_BYTES).toString('hex')
  const facts = next(2).readUInt16BE()
  const sid = createHash('sha256').update('session ').update(random).digest('base64url').slice(0, 22)
  return { sid, owner, generation, bornMs, principalTag: tag, facts }
}
