import { Fault } from '../../kernel/faults.js'
import type { LoginReason } from '../../model/login.js'
import type { BearerChallenge } from './challenges.js'
import { newDpopKey } from './dpop.js'
import { knownCode, needsAuth } from './faults.js'
import { chooseScopes, resourceOf } from './login-flow.js'
import { isMachineGrant, requestAsMachine } from './machine-grants.js'
import type { CredentialRecord, StepUp } from './record.js'
import { givenClient } from './register.js'
import type { TokenSourceContext } from './settings.js'
import { cutErrorText, requestTokens, type TokenAnswer } from './tokens.js'
import { runDiscovery } from './visit.js'

/** Gets tokens without a user: refreshes the tokens of a login, or requests tokens for a machine. */
export class TokenSource {
  readonly #context: TokenSourceContext

  constructor(context: TokenSourceContext) {
    this.#context = context
  }

  /**
   * Replaces expired or refused tokens, unless another process has done so. One caller at a time; the result
   * is on disk before use. Rejects with a Fault: `needs-auth` if only a login can help, else
   * `auth-unreachable`, with the tokens unchanged.
   */
  async renew(record: CredentialRecord, stale: string): Promise<CredentialRecord> {
    const { settings, store } = this.#context
    // Before taking the lock, whose timeout covers one request.
    const fresh = await this.#rediscovered(record)
    return await store.renewing(record, async () => {
      const now = store.read(record) ?? record
      if (now.tokens !== undefined && now.tokens.access !== stale) return now
      const renewable = { ...now, ...fresh }
      return isMachineGrant(settings) ? this.#asMachine(renewable) : this.#refresh(renewable)
    })
  }

  /** Repeats discovery after a day; keeps the old result after a failure, or for another issuer. */
  async #rediscovered({ discovery: kept, discoveredMs }: CredentialRecord) {
    const nowMs = this.#context.nowMs()
    if (nowMs >= discoveredMs && nowMs - discoveredMs < DAY_MS) return undefined
    try {
      const discovery = await discoverFor(this.#context, kept)
      const isSame = discovery.server.issuer === kept.server.issuer && discovery.resource === kept.resource
      return isSame ? { discovery, discoveredMs: nowMs } : undefined
    } catch {
      return undefined
    }
  }

  /**
   * Gets the first tokens of a machine. For a user, reads the server's metadata again and rejects with the
   * Fault that explains the login.
   */
  async acquire(challenge: BearerChallenge | undefined, stepUp?: StepUp): Promise<CredentialRecord> {
    const { settings, store, nowMs, url, owner } = this.#context
    const discovery = await discoverFor(this.#context, challenge)
    const client = givenClient(discovery, settings, undefined)
    if (!isMachineGrant(settings)) {
      const { registration_endpoint: registration } = discovery.server
      if (client !== undefined || registration !== undefined) throw needsAuth(this.#context)
      throw lacking(
        'needs-client',
        `${cutErrorText(discovery.server.issuer)} does not support dynamic client registration`,
      )
    }
    const asked = chooseScopes(discovery, settings, { challenged: challenge?.scopes, wanted: stepUp?.scopes })
    const dpopKey = settings.dpop === true ? await newDpopKey() : undefined
    const record: CredentialRecord = {
      version: 1,
      url,
      owner,
      redirect: 'none',
      discovery,
      discoveredMs: nowMs(),
      client,
      asked,
      stepUp,
      dpopKey,
    }
    return await store.locked(record, () => this.#asMachine(record))
  }

  async #asMachine(record: CredentialRecord): Promise<CredentialRecord> {
    return this.#taken(record, await requestAsMachine(this.#context, record))
  }

  async #refresh(record: CredentialRecord): Promise<CredentialRecord> {
    const { discovery, client, tokens } = record
    if (client === undefined || tokens?.refresh === undefined) throw needsAuth(this.#context)
    const answer = await requestTokens(this.#context, {
      server: discovery.server,
      client: this.#current(record) ?? client,
      grant: 'refresh_token',
      parameters: {
        refresh_token: tokens.refresh,
        resource: resourceOf({ discovery, settings: this.#context.settings }),
      },
      asked: tokens.scopes,
      dpopKey: record.dpopKey,
    })
    return this.#taken(record, answer)
  }

  /** Returns the configured client, whose secret may have changed since the login. */
  #current({ client, discovery }: CredentialRecord) {
    const given = givenClient(discovery, this.#context.settings, client?.redirectUri)
    return given?.id === client?.id ? given : undefined
  }

  #taken(record: CredentialRecord, answer: TokenAnswer): CredentialRecord {
    const isMachine = isMachineGrant(this.#context.settings)
    if (answer.is === 'tokens') {
      const refresh = isMachine ? undefined : (answer.tokens.refresh ?? record.tokens?.refresh)
      const renewed = { ...record, tokens: { ...answer.tokens, refresh }, problem: undefined }
      this.#context.store.save(renewed)
      return renewed
    }
    if (answer.is === 'failed') throw lacking('auth-unreachable', answer.why, answer)
    if (!isMachine && DEAD.has(answer.error)) return this.#withoutTokens(record, answer)
    this.#note(record, answer.message)
    const { error, message } = answer
    throw lacking('auth-unreachable', `its authorization server answered ${knownCode(error)}`, {
      text: message,
    })
  }

  /** Deletes invalid tokens, unless a login has replaced them meanwhile. */
  #withoutTokens(
    record: CredentialRecord,
    { error, message }: Extract<TokenAnswer, { is: 'refused' }>,
  ): CredentialRecord {
    const { store } = this.#context
    const now = store.read(record)
    if (now?.tokens !== undefined && now.tokens.access !== record.tokens?.access) return now
    const isClientDead = error === 'invalid_client'
    const isOurs = record.client?.by === 'registration'
    const client = isClientDead && isOurs ? undefined : record.client
    store.save({ ...record, tokens: undefined, client, problem: message })
    if (!isClientDead || isOurs) throw needsAuth(this.#context)
    throw lacking('needs-client', `its authorization server refused our client: ${knownCode(error)}`, {
      text: message,
    })
  }

  /** Stores an error of the authorization server, for `auth status`. */
  #note(record: CredentialRecord, problem: string): void {
    const { store } = this.#context
    const now = store.read(record)
    if (now !== undefined && now.problem !== problem) store.save({ ...now, problem })
  }
}

const DAY_MS = 24 * 60 * 60_000

/** Errors that invalidate the stored tokens or client. */
const DEAD: ReadonlySet<string> = new Set(['invalid_grant', 'invalid_client'])

/** Repeats discovery; a configured client keeps its first issuer. */
export const discoverFor = async (
  context: Pick<TokenSourceContext, 'url' | 'owner' | 'settings' | 'store' | 'fetch' | 'revision'>,
  challenge: Partial<Pick<BearerChallenge, 'resourceMetadata'>> | undefined,
) => {
  const { url, owner, settings, store } = context
  const kept = store.find({ url, owner })?.discovery
  // One found at the server's origin may have any issuer name.
  const known = kept?.by === 'origin' ? new URL(url).origin : kept?.server.issuer
  const pinned = settings.clientId === undefined ? undefined : known
  return await runDiscovery(
    {
      url,
      resourceMetadata: challenge?.resourceMetadata,
      issuer: settings.issuer ?? pinned,
      known: known === undefined ? [] : [known],
      endpoints: settings.endpoints,
    },
    context,
  )
}

const lacking = (
  reason: LoginReason,
  message: string,
  {
    retryAfterMs,
    text: peerText,
  }: { readonly retryAfterMs?: number | undefined; readonly text?: string } = {},
): Fault =>
  new Fault('unauthorized', message, {
    cause: peerText === undefined ? undefined : new Error(peerText),
    data: { reason, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  })
