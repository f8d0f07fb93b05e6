import { timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { tokenHash } from '../../secrets/personal-token.js'
import type { SharedShelves } from './shared-shelves.js'
import { Shelf, type ShelfOptions } from './shelf.js'

/** Compares two secrets, in a time that says nothing of either. */
export const isSame = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(tokenHash(one)), Buffer.from(tokenHash(other)))

type Rules = Pick<ShelfOptions<AdapterPayload>, 'most' | 'mostOfFamily'> & {
  readonly file?: string
  /** Whether the id is public: all others are credentials, of which only the hash is kept. */
  readonly isOpen?: boolean
}

/**
 * What oidc-provider stores, by the names of its models. A used refresh token is kept to recognize its theft,
 * as long as it is among the last hundred of its grant.
 */
const RULES: Readonly<Record<string, Rules>> = {
  Client: { most: Number.POSITIVE_INFINITY, isOpen: true, file: 'clients.json' },
  Grant: { most: 10_000, isOpen: true, file: 'grants.json' },
  RefreshToken: { most: 50_000, mostOfFamily: 100, file: 'refresh-tokens.json' },
  AccessToken: { most: 20_000, mostOfFamily: 20 },
  ClientCredentials: { most: 5000, mostOfFamily: 100 },
  AuthorizationCode: { most: 1000, mostOfFamily: 4 },
  Session: { most: 1000 },
}
const OTHERS: Rules = { most: 1000 }

const nobody = async (): Promise<undefined> => await Promise.resolve(undefined)

const DAY = 86_400

/** A client that has just registered: it goes after a day, unless somebody trusts it before (AU-47). */
const asKept = ({ client_secret: secret, ...metadata }: AdapterPayload): AdapterPayload => ({
  ...metadata,
  ...(secret !== undefined && { client_secret: tokenHash(secret) }),
  exp: Math.floor(Date.now() / 1000) + DAY,
})

export interface StoreOptions {
  /** The folder of this authorization server. */
  readonly folder: string
  /** For `loginFlows`: of sign-ins under way, the one that began first makes room. */
  readonly bounds: LimitCounters
  /** Where other replicas have the same. */
  readonly shared: SharedShelves | undefined
  readonly log: Logger
}

/** Everything that oidc-provider remembers (AU-53): a shelf for each of its models. */
export class Store {
  readonly #options: StoreOptions
  readonly #shelves = new Map<string, Shelf<AdapterPayload>>()

  constructor(options: StoreOptions) {
    this.#options = options
    // What others have told has its place from the beginning.
    if (options.shared !== undefined) for (const model of Object.keys(RULES)) this.shelf(model)
  }

  shelf(model: string): Shelf<AdapterPayload> {
    const known = this.#shelves.get(model)
    if (known !== undefined) return known
    const { bounds, folder, shared, log } = this.#options
    const { file, ...rules } = RULES[model] ?? OTHERS
    const shelf = new Shelf<AdapterPayload>({
      ...rules,
      ...(model === 'Interaction' && {
        most: bounds.max.loginFlows,
        onFull: () => bounds.hit('loginFlows'),
      }),
      ...(file !== undefined && { file: join(folder, file) }),
      ...(shared !== undefined && { shared: { shelves: shared, name: model } }),
      familyOf: value => value.grantId ?? (model === 'ClientCredentials' ? value.clientId : undefined),
      log,
    })
    this.#shelves.set(model, shelf)
    return shelf
  }

  /** What the access token with this hash stands for. */
  token(sha256: string): AdapterPayload | undefined {
    return this.shelf('AccessToken').get(sha256) ?? this.shelf('ClientCredentials').get(sha256)
  }

  /** Takes what other replicas know of a token. Rejects with a Fault `unavailable` if they do not say. */
  async seekToken(sha256: string): Promise<void> {
    for (const model of ['AccessToken', 'ClientCredentials']) await this.shelf(model).seek(sha256)
  }

  /** Ends grants with all that was issued for them. */
  async revoke(grantIds: readonly string[]): Promise<void> {
    const models = ['AccessToken', 'AuthorizationCode', 'RefreshToken']
    const ended = models.map(model => {
      const shelf = this.shelf(model)
      return shelf.delete(...grantIds.flatMap(id => shelf.family(id)))
    })
    await Promise.all([...ended, this.shelf('Grant').delete(...grantIds)])
  }

  /** For the configuration of oidc-provider. */
  readonly adapter = (model: string): Adapter => {
    const shelf = this.shelf(model)
    const keyOf = (id: string): string => (RULES[model]?.isOpen === true ? id : tokenHash(id))
    return {
      upsert: async (id, payload) => {
        if (model === 'RefreshToken') await this.#prolong(payload)
        if (model === 'Grant') await this.#used(payload.clientId)
        // The id of a token is the token.
        await shelf.set(keyOf(id), model === 'Client' ? asKept(payload) : { ...payload, jti: undefined })
      },
      find: async id => {
        const kept = await shelf.seek(keyOf(id))
        return kept && (model === 'Client' ? kept : { ...kept, jti: id })
      },
      // For features that are off.
      findByUid: nobody,
      findByUserCode: nobody,
      consume: async id => {
        const kept = shelf.get(keyOf(id))
        if (kept !== undefined)
          await shelf.set(keyOf(id), { ...kept, consumed: Math.floor(Date.now() / 1000) })
      },
      destroy: id => shelf.delete(keyOf(id)),
      revokeByGrantId: grantId => shelf.delete(...shelf.family(grantId)),
    }
  }

  /** A grant lives as long as the newest refresh token for it. */
  async #prolong({ grantId = '', exp }: AdapterPayload): Promise<void> {
    const grant = this.shelf('Grant').get(grantId)
    if (grant !== undefined) await this.shelf('Grant').set(grantId, { ...grant, exp })
  }

  /** A client that somebody trusted once is kept. */
  async #used(clientId = ''): Promise<void> {
    const client = this.shelf('Client').get(clientId)
    if (client?.exp === undefined) return
    await this.shelf('Client').set(clientId, { ...client, exp: undefined })
  }
}
