import { createHash, hash, randomBytes } from 'node:crypto'
import type { Principal } from '../kernel/caller.js'
import { type Logger, silentLogger } from '../kernel/logger.js'
import type { KeyRing } from './key-ring.js'

const VERSION = 1
const ABOUT = 'session id'
const PLAIN_BYTES = 35
/** Of `nonce ‖ sealed ‖ tag` in base64url. */
const ID_CHARS = 84
const OWNER_BYTES = 8
const RANDOM_BYTES = 10
const GENERATION_BYTES = 4
const TAG_BYTES = 6

/** Ids that were opened lately: every request brings one. */
const KNOWN_MAX = 100_000
/** A birth that is later than this by our clock is told. */
const AHEAD_MS = 60_000

/** What a session id says to whoever has the key. */
export interface SessionName {
  /** By which the engine knows the session: nobody can make an id of it. */
  readonly sid: string
  /** The instance in which it was born. */
  readonly owner: string
  /** Of the data in the engine at the time. */
  readonly generation: string
  readonly bornMs: number
  readonly principalTag: string
  /** What its client declared, as far as two bytes can say it. */
  readonly facts: number
}

export interface BirthFacts {
  readonly owner: string
  readonly generation: string
  readonly nowMs: number
  readonly principal: Principal
  readonly facts: number
}

/** Generations are named by random bytes in hexadecimal, as instances are. */
export const newGeneration = (): string => randomBytes(GENERATION_BYTES).toString('hex')
export const NO_GENERATION = '00000000'

/** Says whose a session is without naming anybody. */
export const principalTag = (principal: Principal): string =>
  hash('sha256', `principal ${principal}`, 'hex').slice(0, 2 * TAG_BYTES)

/**
 * Session ids that name their owner: any replica knows where to send a request without asking anybody, and
 * made-up ids end here. AES-256-GCM over version 1, owner 8, random 10, generation 4, birth 4 (seconds), tag
 * of the principal 6, facts 2 bytes.
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

  /** Undefined for an id that no replica made. */
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

  /** What clocks say decides nothing here; but states and tokens have a time. */
  #checkBirth({ owner, bornMs }: SessionName): void {
    const aheadMs = bornMs - Date.now()
    if (aheadMs <= AHEAD_MS || this.#isSkewLogged) return
    this.#isSkewLogged = true
    this.#log.warn(
      { replica: owner, aheadMs },
      'the clock of a replica is ahead of the one here: have NTP set both',
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
