import type { ServerConfig, UrlTransport } from '../../config/types.js'
import { Fault } from '../../kernel/faults.js'
import type { ServerOptions } from '../../peers/dial.js'
import { beginLogin, finishLogin, type PendingLogin } from '../client/login-flow.js'
import type { CredentialRecord } from '../client/record.js'
import { becomeClient } from '../client/register.js'
import type { Client } from '../client/tokens.js'
import { askChallenge } from '../store/challenge.js'
import { draftLogin, keepLogin } from '../store/login-draft.js'
import { type LoginContext, type Logins, loginContext, SHARED } from '../store/logins.js'
import { callbackPath, clientDocumentUrl, clientNameAt } from './client-document.js'

/** A login that a person may begin: nothing was sent yet. */
export interface Draft {
  readonly context: LoginContext
  readonly transport: UrlTransport
  readonly record: CredentialRecord
}

/** A login that a person was sent to. Secret. */
export interface Underway {
  readonly draft: Draft
  readonly client: Client
  readonly pending: PendingLogin
}

export interface WebLoginsOptions {
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly logins: Pick<Logins, 'store'>
  /** Where browsers reach us. */
  readonly origin: string
}

/** Logins at servers whose authorization server sends the browser back to a page of ours. */
export class WebLogins {
  readonly #options: WebLoginsOptions
  /** Registrations that their authorization servers no longer know (AD-21). */
  readonly #dead = new Set<string>()

  constructor(options: WebLoginsOptions) {
    this.#options = options
  }

  /** Finds out what a login at a server needs. Rejects with a Fault if there can be none. */
  async draft(server: ServerOptions): Promise<Draft> {
    const { configOf, logins, origin } = this.#options
    const { name, oauth, transport } = configOf(server) ?? {}
    if (name === undefined || oauth === undefined || transport === undefined || !('url' in transport))
      throw new Fault('unavailable', 'this server is no longer configured')
    const settings = { ...oauth, ownDocument: (issuer: string) => clientDocumentUrl(origin, issuer) }
    const owner = server.owned?.owner ?? SHARED
    const login = { server: name, command: undefined, url: transport.url, settings, owner }
    const context = await loginContext(login, await logins.store())
    return {
      context,
      transport,
      record: await draftLogin(context, await askChallenge(transport), 'web'),
    }
  }

  /** Becomes a client there, and says where to send the person. Rejects with a Fault if that cannot be. */
  async begin(draft: Draft): Promise<{ readonly url: URL; readonly underway: Underway }> {
    const { context, record } = draft
    const { settings } = context
    const { discovery, asked: scopes, dpopKey } = record
    const redirectUri = this.#redirectUri(draft)
    const client = await becomeClient(context, {
      ...{ discovery, settings, redirectUri, scopes },
      applicationType: 'web',
      clientName: clientNameAt(this.#options.origin),
      known: this.#knownClient(draft),
    })
    const { url, pending } = beginLogin({ discovery, client, scopes, settings, redirectUri, dpopKey })
    return { url, underway: { draft, client, pending } }
  }

  /** Takes what the person brought back. Rejects with a Fault that says why nobody is signed in. */
  async finish({ draft, client, pending }: Underway, answer: URLSearchParams): Promise<void> {
    const { context, record } = draft
    const got = await finishLogin(context, pending, answer)
    if (got.is === 'refused' && got.error === 'invalid_client' && client.by === 'registration') {
      this.#dead.add(client.id)
      throw new Fault('unauthorized', 'its authorization server has forgotten this proxy; try once more')
    }
    if (got.is !== 'tokens') {
      const why = got.is === 'failed' ? got.why : `its authorization server answered ${got.words}`
      throw new Fault('unauthorized', why)
    }
    await keepLogin(context.store, { ...record, client, tokens: got.tokens })
  }

  #redirectUri({ record: { discovery } }: Draft): string {
    return this.#options.origin + callbackPath(discovery.server.issuer)
  }

  /** Our registration is one for all people: it says who we are, and nothing of them (AD-23). */
  #knownClient(draft: Draft): Client | undefined {
    const { context, record } = draft
    const { issuer } = record.discovery.server
    const wanted = this.#redirectUri(draft)
    return context.store
      .all()
      .filter(({ discovery: { server } }) => server.issuer === issuer)
      .flatMap(({ client }) => client ?? [])
      .find(({ id, redirectUri }) => redirectUri === wanted && !this.#dead.has(id))
  }
}
