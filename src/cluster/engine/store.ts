/** What a member says of itself to the others. */
export interface MemberFacts {
  /** `HOST:PORT` at which the others reach it. */
  readonly address: string
  /** `keys`: it seals with a key that an older member lacks. */
  readonly state: 'ready' | 'draining' | 'keys'
  readonly version: string
  /** The names of its keys; it seals with the first. */
  readonly keys: readonly string[]
  /** Of its configuration, which the engine learns nothing of; undefined if it does not say. */
  readonly digest?: string | undefined
  /** When it came, by the clock of the engine; `Infinity` until it knows. */
  readonly sinceMs: number
}

/** An instance whose lease is not over. */
export interface Member extends MemberFacts {
  readonly id: string
  /** The end of its lease, by the clock of the engine. */
  readonly untilMs: number
}

/** What a beat tells. */
export interface Beat {
  readonly members: readonly Member[]
  /** Whether the lease was over before it was renewed: others may have taken what was ours. */
  readonly wasOver: boolean
  readonly nowMs: number
  readonly generation: string
  /** The number of the last note. */
  readonly news: number
}

/** Notes in the order in which they were last written; `version` is the number of the last of these. */
interface News {
  readonly version: number
  readonly names: readonly string[]
}

/** The owner of a session that was given up. */
export const NOBODY = '-'

/** Whose a session is, in which epoch, and what is known of it; only its owner changes it. */
export interface StoredSession {
  readonly owner: string
  readonly epoch: number
  readonly sealed: Buffer
}

/** What came of a claim: `alive` names who has it, and `claimed` is what we have now. */
type Claim =
  | { readonly is: 'none' }
  | { readonly is: 'alive'; readonly owner: string }
  | ({ readonly is: 'claimed' } & StoredSession)

/**
 * PORT. What all replicas have in common. Time is that of the engine. Everything rejects with a Fault
 * `unavailable` if the engine does not answer in time; whether it was done is not known then.
 */
export interface ClusterStore {
  /** False once the engine was lost, late twice in a row, or refused a beat, until it answers again. */
  readonly isUp: boolean
  /**
   * Renews the lease of an instance, and tells who else is there. An instance that does not know yet when it
   * came ends the lease of whoever had its address before.
   */
  beat(id: string, facts: MemberFacts, leaseMs: number): Promise<Beat>
  /** Gives a lease up. */
  leave(id: string): Promise<void>
  /** Writes a session; false if by now it is another's, or has a higher epoch. */
  write(sid: string, session: StoredSession, ttlMs: number): Promise<boolean>
  read(sid: string): Promise<StoredSession | undefined>
  /** Takes a session over if the lease of its owner is over. */
  claim(sid: string, id: string, ttlMs: number): Promise<Claim>
  /** Takes a lock, unless an instance whose lease holds has it; for `ttlMs` at most. */
  take(lock: string, id: string, ttlMs: number): Promise<boolean>
  release(lock: string, id: string): Promise<void>
  /** Keeps a value that all should know, for ever if `ttlMs` is 0. */
  note(name: string, sealed: Buffer, ttlMs: number): Promise<void>
  noted(name: string): Promise<Buffer | undefined>
  /** The names that were noted after a number: some of them, the oldest first. */
  news(after: number): Promise<News>
  /** Says how many sessions an instance has of somebody; returns how many the other living ones have. */
  count(of: string, id: string, own: number, ttlMs: number): Promise<number>
  /** Forgets a session that is still its owner's. */
  remove(sid: string, owner: string): Promise<void>
  close(): Promise<void>
}
