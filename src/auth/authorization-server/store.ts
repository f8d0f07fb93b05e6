import { timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import type { Adapter, AdapterPayload } from 'oidc-provider'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { tokenHash } from '../../kernel/secrets/personal-token.js'
import type { ReplicatedStores } from './replicated-stores.js'
import { TokenStore, type TokenStoreOptions } from './token-store.js'

/** Compares two secrets in constant time. */
export const isSameText = (one: string, other: string): boolean =>
  timingSafeEqual(Buffer.from(tokenHash(one)), Buffer.from(tokenHash(other)))

type Rules = Pick<TokenStoreOptions<AdapterPayload>, 'most' | 'mostOfFamily'> & {
  readonly file?: string
  /** True if the id is public; other ids are credentials, stored as hashes. */
  readonly isOpen?: boolean
}

/**
 * Storage rules by oidc-provider model. When a model is full, the user (for machines, the client) with the
 * most entries loses the oldest. A used refresh token is kept to detect theft, while it is among the last
 * hundred of its grant.
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

/** The models of the credentials that a client may revoke. */
const CREDENTIALS = ['AccessToken', 'ClientCredentials', 'RefreshToken']

const noUser = async (): Promise<undefined> => await Promise.resolve(undefined)

const DAY = 86_400

/** A client without a user's grant may be deleted for another one after this time. */
export const REGISTERED_MS = 10 * 60_000

/** Prepares a new registration: it expires after a day unless a user grants it access. */
const asKept = ({ client_secret: secret, ...metadata }: AdapterPayload): AdapterPayload => ({
  ...metadata,
  ...(secret !== undefined && { client_secret: tokenHash(secret) }),
  exp: Math.floor(Date.now() / 1000) + DAY,
})

/** Owner of a sign-in in a browser, and whether its page was requested. */
interface Begun {
  readonly owner?: string | undefined
  readonly isFetched?: boolean | undefined
}

/** Groups the grants of a user, and the tokens of a machine. */
const familyWithoutGrant = (model: string, { accountId, clientId }: AdapterPayload): string | undefined =>
  model === 'Grant' ? accountId : model === 'ClientCredentials' ? clientId : undefined

const begunIn = (payload: AdapterPayload | undefined): Begun => (payload ?? {}) as Begun

const ownerOf = (payload: AdapterPayload): string | undefined =>
  begunIn(payload).owner ?? payload.accountId ?? payload.clientId ?? payload.iss

export interface StoreOptions {
  /** Folder of this authorization server. */
  readonly folder: string
  /** Limit `loginFlows`: sign-ins whose page was never requested are dropped first. */
  readonly bounds: LimitCounters
  /** Returns the network of the current request. */
  readonly network: () => string
  /** Shares the data with other replicas. */
  readonly shared: ReplicatedStores | undefined
  /** Reports a code or refresh token that was used twice, and returns the error for its client. */
  readonly reused: (grantId: string | undefined) => Error
  readonly log: Logger
}

/** Storage of oidc-provider: one store per model. */
export class Store {
  readonly #options: StoreOptions
  readonly #stores = new Map<string, TokenStore<AdapterPayload>>()

  constructor(options: StoreOptions) {
    this.#options = options
    // Created at once to receive changes of other replicas.
    if (options.shared !== undefined) for (const model of Object.keys(RULES)) this.store(model)
  }

  store(model: string): TokenStore<AdapterPayload> {
    const known = this.#stores.get(model)
    if (known !== undefined) return known
    const { bounds, folder, shared, log } = this.#options
    const { file, ...rules } = RULES[model] ?? OTHERS
    const store = new TokenStore<AdapterPayload>({
      ...rules,
      ...(model === 'Interaction' && {
        most: bounds.max.loginFlows,
        onFull: () => bounds.hit('loginFlows'),
        isSpare: value => begunIn(value).isFetched !== true,
      }),
      ownerOf,
      isUsedUp: ({ consumed }) => consumed !== undefined,
      ...(file !== undefined && { file: join(folder, file) }),
      ...(shared !== undefined && { shared: { stores: shared, name: model } }),
      familyOf: value => value.grantId ?? familyWithoutGrant(model, value),
      log,
    })
    this.#stores.set(model, store)
    return store
  }

  /** Returns the access token with this hash, unless its grant has ended. */
  token(sha256: string): AdapterPayload | undefined {
    const token = this.store('AccessToken').get(sha256)
    if (token === undefined) return this.store('ClientCredentials').get(sha256)
    return this.store('Grant').get(token.grantId ?? '') && token
  }

  /** Reports whether a refresh token is known, even if used; true while replicas cannot be asked. */
  async knowsRefreshToken(token: string): Promise<boolean> {
    const known = this.store('RefreshToken').seek(tokenHash(token))
    return await known.then(
      kept => kept !== undefined,
      () => true,
    )
  }

  /** Ends all grants of a session at the identity provider. */
  async revokeSession(session: string): Promise<void> {
    const grants = new Set<string>()
    for (const [, { extra, grantId }] of this.store('AccessToken').entries())
      if (extra?.['session'] === session && grantId !== undefined) grants.add(grantId)
    for (const [, { amr, grantId }] of this.store('RefreshToken').entries())
      if (amr?.[0] === session && grantId !== undefined) grants.add(grantId)
    await this.revoke([...grants])
  }

  /** Loads a token and its grant from other replicas. Rejects with a Fault `unavailable` if that fails. */
  async seekToken(sha256: string): Promise<void> {
    const token = await this.store('AccessToken').seek(sha256)
    if (token === undefined) await this.store('ClientCredentials').seek(sha256)
    else await this.store('Grant').seek(token.grantId ?? '')
  }

  /** Returns a user's grant that already gives a client exactly these resources and at least these scopes. */
  grantFor(
    principal: string,
    wanted: {
      readonly clientId: string
      readonly resources: readonly string[]
      readonly scopes: readonly string[]
    },
  ): string | undefined {
    const store = this.store('Grant')
    return store.family(principal).findLast(id => {
      const { clientId, resources } = store.get(id) ?? {}
      if (clientId !== wanted.clientId || typeof resources !== 'object') return false
      const granted = Object.entries<unknown>({ ...resources })
      return (
        granted.length === wanted.resources.length &&
        granted.every(
          ([resource, scope]) =>
            wanted.resources.includes(resource) &&
            wanted.scopes.every(each => String(scope).split(' ').includes(each)),
        )
      )
    })
  }

  /** Ends all grants and browser sessions of a user. */
  async revokeUser(principal: string): Promise<void> {
    const sessions = this.store('Session')
    const open = [...sessions.entries()].filter(([, { accountId }]) => accountId === principal)
    await sessions.delete(...open.map(([id]) => id))
    await this.revoke(this.store('Grant').family(principal))
  }

  /** Ends grants and all tokens issued for them. */
  async revoke(grantIds: readonly string[]): Promise<void> {
    const models = ['AccessToken', 'AuthorizationCode', 'RefreshToken']
    const ended = models.map(model => {
      const store = this.store(model)
      return store.delete(...grantIds.flatMap(id => store.family(id)))
    })
    await Promise.all([...ended, this.store('Grant').delete(...grantIds)])
  }

  /** Creates an adapter for oidc-provider. */
  readonly adapter = (model: string): Adapter => {
    const store = this.store(model)
    const keyOf = (id: string): string => (RULES[model]?.isOpen === true ? id : tokenHash(id))
    return {
      upsert: async (id, payload) => {
        if (model === 'RefreshToken') await this.#prolong(payload)
        if (model === 'Grant') await this.#used(payload.clientId)
        if (model === 'Interaction') {
          await store.set(keyOf(id), { ...this.#begun(payload, store.get(keyOf(id))), jti: undefined })
          return
        }
        // The id of a token is the token itself, and must not be stored.
        await store.set(keyOf(id), model === 'Client' ? asKept(payload) : { ...payload, jti: undefined })
      },
      find: async id => {
        const kept = this.#isOther(model, keyOf(id)) ? undefined : await store.seek(keyOf(id))
        return kept && (model === 'Client' ? kept : { ...kept, jti: id })
      },
      // Unused: their features are disabled.
      findByUid: noUser,
      findByUserCode: noUser,
      consume: id => this.#consume(store, keyOf(id)),
      // The store publishes the deletion of a known value only.
      destroy: async id => {
        if ((await store.seek(keyOf(id))) !== undefined) await store.delete(keyOf(id))
      },
      revokeByGrantId: grantId => store.delete(...store.family(grantId)),
    }
  }

  /**
   * Returns clients without a grant, least recently used first. Excludes clients that never had a grant and
   * registered only minutes ago.
   */
  unusedClients(): readonly string[] {
    const used = new Set<string | undefined>()
    for (const [id] of this.store('Grant').entries()) used.add(this.store('Grant').get(id)?.clientId)
    return [...this.store('Client').entries()].flatMap(([id, { exp }]) => {
      const ageMs = exp === undefined ? Number.POSITIVE_INFINITY : Date.now() - (exp - DAY) * 1000
      return ageMs > REGISTERED_MS && !used.has(id) ? [id] : []
    })
  }

  /** Records that a browser requested the page of a sign-in. */
  async fetched(uid: string): Promise<void> {
    const store = this.store('Interaction')
    const kept = store.get(tokenHash(uid))
    if (kept === undefined || begunIn(kept).isFetched === true) return
    await store.set(tokenHash(uid), { ...kept, ...({ isFetched: true } satisfies Begun) })
  }

  /** Reports whether a token is known to be of another model: then other replicas need not be asked. */
  #isOther(model: string, key: string): boolean {
    const isHere = (each: string): boolean => each !== model && this.store(each).get(key) !== undefined
    return CREDENTIALS.includes(model) && CREDENTIALS.some(isHere)
  }

  /**
   * Uses up a code or refresh token. Since it was found, a concurrent request or another replica may have
   * used it. A second use ends the grant (RFC 9700 §4.14.2).
   */
  async #consume(store: TokenStore<AdapterPayload>, key: string): Promise<void> {
    await store.refresh(key)
    // No await between this check and the change.
    const kept = store.get(key)
    if (kept !== undefined && kept.consumed === undefined) {
      await store.set(key, { ...kept, consumed: Math.floor(Date.now() / 1000) })
      return
    }
    if (kept?.grantId !== undefined) await this.revoke([kept.grantId])
    throw this.#options.reused(kept?.grantId)
  }

  /** Limits sign-ins by client and network. */
  #begun(payload: AdapterPayload, before: AdapterPayload | undefined): AdapterPayload {
    const { owner, isFetched } = begunIn(before)
    const client = String(payload.params?.['client_id'])
    return { ...payload, owner: owner ?? `${client} ${this.#options.network()}`, isFetched }
  }

  /** Extends a grant to the lifetime of its newest refresh token. */
  async #prolong({ grantId = '', exp }: AdapterPayload): Promise<void> {
    const grant = this.store('Grant').get(grantId)
    if (grant !== undefined) await this.store('Grant').set(grantId, { ...grant, exp })
  }

  /** Keeps a client while it has a grant. */
  async #used(clientId = ''): Promise<void> {
    const client = this.store('Client').get(clientId)
    if (client !== undefined) await this.store('Client').set(clientId, { ...client, exp: undefined })
  }
}
