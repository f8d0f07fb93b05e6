import { createHash } from 'node:crypto'
import type { Broadcasts } from '../../cluster/broadcasts.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { CredentialPlace, CredentialRecord } from '../client/record.js'

const KIND = 'login'
/** Retry delay after a failed refresh. */
const RETRY_MS = 5000
/** Maximum number of remembered replaced tokens. */
const REPLACED_MAX = 8

/** The local login store, for other replicas. */
export interface OwnLogins {
  all(): readonly CredentialRecord[]
  find(place: CredentialPlace): CredentialRecord | undefined
  read(record: CredentialRecord): CredentialRecord | undefined
  /** Stores a login of another replica without publishing it again. */
  take(record: CredentialRecord): void
  nameOf(record: CredentialRecord): string
}

export interface SharedLoginsOptions {
  readonly broadcasts: Pick<Broadcasts, 'on' | 'read' | 'write' | 'exclusively'>
  readonly own: OwnLogins
  readonly log: Logger
}

interface Shared {
  readonly record: CredentialRecord
  /** Digests of replaced access tokens, to detect outdated replicas regardless of clocks. */
  readonly replaced: readonly string[]
}

interface Known {
  /** Digest of the current access token. */
  readonly digest: string
  readonly replaced: readonly string[]
}

/** Shares logins and refreshed tokens between replicas. */
export class SharedLogins {
  readonly #options: SharedLoginsOptions
  /** Published logins, by name. */
  readonly #known = new Map<string, Known>()
  /** Pending publications. */
  readonly #sending = new Map<string, Promise<void>>()

  constructor(options: SharedLoginsOptions) {
    this.#options = options
    options.broadcasts.on(KIND, {
      received: value => this.#receive(value),
      lost: () => void this.#offerAll(),
    })
  }

  /** Runs `work` with the newest version of a login, while no replica refreshes it. Rejects with a Fault. */
  async renewing<T>(record: CredentialRecord, work: () => Promise<T>): Promise<T> {
    const { broadcasts, own } = this.#options
    const name = own.nameOf(record)
    const guarded = async (): Promise<T> => {
      await this.#compare(record)
      const result = await work()
      // The next replica must not start with a replaced token.
      await this.#sending.get(name)?.catch(() => undefined)
      return result
    }
    try {
      return await broadcasts.exclusively(KIND, name, guarded)
    } catch (thrown) {
      const fault = Fault.from(thrown)
      if (fault.code !== 'unavailable' && fault.code !== 'timeout') throw fault
      throw new Fault('unauthorized', 'cannot renew a token: the other replicas cannot be notified', {
        cause: fault,
        data: { reason: 'auth-unreachable', retryAfterMs: RETRY_MS },
      })
    }
  }

  /** Publishes a login that another process of this machine may have stored. */
  noticed(place: CredentialPlace): void {
    const { own } = this.#options
    const record = own.find(place)
    if (record === undefined) return
    const known = this.#known.get(own.nameOf(record))
    // Other replicas may have a newer version of the first login here.
    if (known === undefined) {
      void this.#compare(record).catch((thrown: unknown) => {
        this.#options.log.warn(
          { why: Fault.from(thrown).message },
          'other replicas have not been notified of a login yet',
        )
      })
      return
    }
    const digest = digestOf(record)
    if (digest !== known.digest && !known.replaced.includes(digest)) this.kept(record)
  }

  /** Publishes a login that was stored here. */
  kept(record: CredentialRecord): void {
    const { broadcasts, own, log } = this.#options
    const name = own.nameOf(record)
    const known = this.#known.get(name)
    const digest = digestOf(record)
    const before = known === undefined || known.digest === digest ? [] : [known.digest]
    const replaced = [...(known?.replaced ?? []), ...before].slice(-REPLACED_MAX)
    const shared: Shared = { record, replaced }
    this.#known.set(name, { digest, replaced })
    const sent = broadcasts
      .write(KIND, name, { value: Buffer.from(JSON.stringify(shared)) })
      .catch((thrown: unknown) => {
        log.warn({ why: Fault.from(thrown).message }, 'other replicas have not been notified of a login yet')
      })
    this.#sending.set(name, sent)
    void sent.finally(() => {
      if (this.#sending.get(name) === sent) this.#sending.delete(name)
    })
  }

  #receive(value: Buffer): void {
    const { own } = this.#options
    // Only replicas have the key, so the content is trusted.
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

  /** Publishes all logins after a start, or when the engine has lost its data. */
  async #offerAll(): Promise<void> {
    for (const record of this.#options.own.all()) await this.#compare(record).catch(() => undefined)
  }

  /** Publishes or applies the newer of the local and the shared login. */
  async #compare(record: CredentialRecord): Promise<void> {
    const { broadcasts, own } = this.#options
    const stored = await broadcasts.read(KIND, own.nameOf(record))
    const mine = own.read(record)
    if (stored !== undefined) this.#receive(stored)
    else if (mine !== undefined) this.kept(mine)
  }
}

const digestOf = (record: CredentialRecord | undefined): string =>
  createHash('sha256')
    .update(record?.tokens?.access ?? '')
    .digest('base64url')
    .slice(0, 16)
