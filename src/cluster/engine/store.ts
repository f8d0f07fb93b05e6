/** Data that a member publishes about itself. */
export interface MemberFacts {
  /** `HOST:PORT` at which the other replicas reach it. */
  readonly address: string
  /** `keys`: it seals with a key that an older member lacks. */
  readonly state: 'ready' | 'draining' | 'keys'
  readonly version: string
  /** Names of its keys; it seals with the first. */
  readonly keys: readonly string[]
  /** Digest of its configuration; undefined if not published. */
  readonly digest?: string | undefined
  /** Join time by the clock of the engine; `Infinity` until it is known. */
  readonly sinceMs: number
}

/** An instance with a valid lease. */
export interface ClusterMember extends MemberFacts {
  readonly id: string
  /** End of its lease by the clock of the engine. */
  readonly untilMs: number
}

/** The answer to a beat. */
export interface Beat {
  readonly members: readonly ClusterMember[]
  /** True if the lease was over before its renewal: others may have taken over sessions. */
  readonly wasOver: boolean
  readonly nowMs: number
  readonly generation: string
  /** Number of the last note. */
  readonly news: number
}

/** Names of notes, ordered by last write; `version` is the number of the last one listed. */
interface News {
  readonly version: number
  readonly names: readonly string[]
  /** True if newer names displaced some that follow the requested number. */
  readonly isCut: boolean
}

/** Owner of a released session. */
export const NOBODY = '-'

/** Owner, epoch and sealed record of a session; only the owner changes it. */
export interface StoredSession {
  readonly owner: string
  readonly epoch: number
  readonly sealed: Buffer
}

/** A bucket that counts calls: one every `intervalMs`, and `burst` at once. */
export interface RateBucket {
  readonly key: string
  readonly intervalMs: number
  readonly burst: number
}

/** Result of a claim: `alive` names the current owner; `claimed` carries the session. */
type Claim =
  | { readonly is: 'none' }
  | { readonly is: 'alive'; readonly owner: string }
  | ({ readonly is: 'claimed' } & StoredSession)

/**
 * PORT. The state shared by all replicas, with the engine's clock. All methods reject with a Fault
 * `unavailable` if the engine does not answer in time; the operation may still have run.
 */
export interface ClusterStore {
  /** False after the engine was lost, late twice in a row, or refused a beat, until it answers again. */
  readonly isUp: boolean
  /**
   * Renews the lease of an instance and returns all members. An instance without a join time ends the lease
   * of the previous instance at its address.
   */
  beat(id: string, facts: MemberFacts, leaseMs: number): Promise<Beat>
  /** Gives up a lease. */
  leave(id: string): Promise<void>
  /** Writes a session; returns false if another instance owns it or its epoch is higher. */
  write(sid: string, session: StoredSession, ttlMs: number): Promise<boolean>
  read(sid: string): Promise<StoredSession | undefined>
  /** Takes over a session if the lease of its owner has expired. */
  claim(sid: string, id: string, ttlMs: number): Promise<Claim>
  /** Takes a lock for at most `ttlMs`, unless an instance with a valid lease holds it. */
  take(lock: string, id: string, ttlMs: number): Promise<boolean>
  release(lock: string, id: string): Promise<void>
  /** Stores a note for all replicas; a `ttlMs` of 0 never expires. */
  note(name: string, sealed: Buffer, ttlMs: number): Promise<void>
  noted(name: string): Promise<Buffer | undefined>
  /** Returns some of the names noted after a number, oldest first. */
  news(after: number): Promise<News>
  /** Publishes an instance's session count of a principal; returns the sum of the other live instances. */
  count(of: string, id: string, own: number, ttlMs: number): Promise<number>
  /** Charges all buckets of a call and returns nothing, or returns the time until each has room, in ms. */
  charge(buckets: readonly RateBucket[]): Promise<readonly number[]>
  /** Deletes a session if `owner` still owns it. */
  remove(sid: string, owner: string): Promise<void>
  close(): Promise<void>
}
