import { createHash } from 'node:crypto'
import type { Notes } from '../../cluster/notes.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { CredentialPlace, CredentialRecord } from '../client/record.js'

const KIND = 'login'
/** When those are to try again who could not renew a token. */
const RETRY_MS = 5000
/** Of so many tokens it is known that they were replaced. */
const REPLACED_MAX = 8

/** What is kept here of logins, for those of other replicas. */
export interface OwnLogins {
  all(): readonly CredentialRecord[]
  find(place: CredentialPlace): CredentialRecord | undefined
  read(record: CredentialRecord): CredentialRecord | undefined
  /** Takes what another replica kept, without telling anybody. */
  take(record: CredentialRecord): void
  nameOf(record: CredentialRecord): string
}

export interface SharedLoginsOptions {
  readonly notes: Pick<Notes, 'on' | 'read' | 'write' | 'exclusively'>
  readonly own: OwnLogins
  readonly log: Logger
}

interface Shared {
  readonly record: CredentialRecord
  /** Digests of access tokens that were replaced: whoever has one is behind, whatever its clock says. */
  readonly replaced: readonly string[]
}

interface Known {
  /** Of the access token that all should have. */
  readonly digest: string
  readonly replaced: readonly string[]
}

/** The logins of all replicas: one that is made or renewed at one of them is that of all. */
export class SharedLogins {
  readonly #options: SharedLoginsOptions
  /** What all know, by name. */
  readonly #known = new Map<string, Known>()
  /** What others have not been told yet. */
  readonly #telling = new Map<string, Promise<void>>()

  constructor(options: SharedLoginsOptions) {
    this.#options = options
    options.notes.on(KIND, {
      heard: value => this.#heard(value),
      lost: () => void this.#offerAll(),
    })
  }

  /** Runs `work` with what others know of a login, while none of them renews it. Rejects with a Fault. */
  async renewing<T>(record: CredentialRecord, work: () => Promise<T>): Promise<T> {
    const { notes, own } = this.#options
    const name = own.nameOf(record)
    const guarded = async (): Promise<T> => {
      await this.#compare(record)
      const result = await work()
      // Who comes next must not have what was replaced.
      await this.#telling.get(name)?.catch(() => undefined)
      return result
    }
    try {
      return await notes.exclusively(KIND, name, guarded)
    } catch (thrown) {
      const fault = Fault.from(thrown)
      if (fault.code !== 'unavailable' && fault.code !== 'timeout') throw fault
      throw new Fault('unauthorized', 'no replica may renew a token while the others do not know', {
        cause: fault,
        data: { reason: 'auth-unreachable', retryAfterMs: RETRY_MS },
      })
    }
  }

  /** Looks at a login that another process of this machine may have kept. */
  noticed(place: CredentialPlace): void {
    const { own } = this.#options
    const record = own.find(place)
    if (record === undefined) return
    const known = this.#known.get(own.nameOf(record))
    // The first login here, of which the others may know more by now.
    if (known === undefined) {
      void this.#compare(record).catch((thrown: unknown) => {
        this.#options.log.warn(
          { why: Fault.from(thrown).message },
          'other replicas do not know of a login yet',
        )
      })
      return
    }
    const digest = digestOf(record)
    if (digest !== known.digest && !known.replaced.includes(digest)) this.kept(record)
  }

  /** Tells the others of a login that was kept here. */
  kept(record: CredentialRecord): void {
    const { notes, own, log } = this.#options
    const name = own.nameOf(record)
    const known = this.#known.get(name)
    const digest = digestOf(record)
    const before = known === undefined || known.digest === digest ? [] : [known.digest]
    const replaced = [...(known?.replaced ?? []), ...before].slice(-REPLACED_MAX)
    const shared: Shared = { record, replaced }
    this.#known.set(name, { digest, replaced })
    const told = notes
      .write(KIND, name, { value: Buffer.from(JSON.stringify(shared)) })
      .catch((thrown: unknown) => {
        log.warn({ why: Fault.from(thrown).message }, 'other replicas do not know of a login yet')
      })
    this.#telling.set(name, told)
    void told.finally(() => {
      if (this.#telling.get(name) === told) this.#telling.delete(name)
    })
  }

  #heard(value: Buffer): void {
    const { own } = this.#options
    // What has our seal was written by us.
    const shared = JSON.parse(value.toString()) as Shared
    const { record, replaced } = shared
    const name = own.nameOf(record)
    const mine = own.read(record)
    const isBehind = mine === undefined || replaced.includes(digestOf(mine))
    const isSame = mine !== undefined && digestOf(mine) === digestOf(record)
    this.#known.set(name, { digest: digestOf(record), replaced })
    if (isSame) return
    if (isBehind || (record.savedMs ?? 0) >= (mine.savedMs ?? 0)) own.take(record)
    else this.kept(mine)
  }

  /** After a start, or when the engine has lost its data. */
  async #offerAll(): Promise<void> {
    for (const record of this.#options.own.all()) await this.#compare(record).catch(() => undefined)
  }

  /** Has all know the newest of what is kept here and what was noted. */
  async #compare(record: CredentialRecord): Promise<void> {
    const { notes, own } = this.#options
    const noted = await notes.read(KIND, own.nameOf(record))
    const mine = own.read(record)
    if (noted !== undefined) this.#heard(noted)
    else if (mine !== undefined) this.kept(mine)
  }
}

const digestOf = (record: CredentialRecord | undefined): string =>
  createHash('sha256')
    .update(record?.tokens?.access ?? '')
    .digest('base64url')
    .slice(0, 16)
