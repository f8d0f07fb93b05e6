import type { ServerConfig, UrlTransport } from '../../config/types.js'
import { Fault } from '../../kernel/faults.js'
import type { ServerOptions } from '../../peers/dial.js'
import { beginLogin, finishLogin, type PendingLogin } from '../client/login-flow.js'
import type { CredentialRecord } from '../client/record.js'
import { becomeClient } from '../client/register.js'
import type { OAuthClient } from '../client/tokens.js'
import { askChallenge } from '../store/challenge.js'
import { draftLogin, keepLogin } from '../store/login-draft.js'
import { type LoginContext, type Logins, loginContext, SHARED } from '../store/logins.js'
import { callbackPath, clientDocumentUrl, clientNameAt } from './client-document.js'

/** A prepared login, before any request to register. */
export interface LoginDraft {
  readonly context: LoginContext
  readonly transport: UrlTransport
  readonly record: CredentialRecord
}

/** A login in progress in a browser. Secret. */
export interface StartedLogin {
  readonly draft: LoginDraft
  readonly client: OAuthClient
  readonly pending: PendingLogin
}

export interface WebLoginsOptions {
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly logins: Pick<Logins, 'store'>
  /** Origin for browsers. */
  readonly origin: string
}

/** Logins whose authorization server redirects to a page of the proxy. */
export class WebLogins {
  readonly #options: WebLoginsOptions
  /** Registrations that their authorization servers do not know any more. */
  readonly #dead = new Set<string>()

  constructor(options: WebLoginsOptions) {
    this.#options = options
  }

  /** Determines the requirements of a login. Rejects with a Fault if it is impossible. */
  async draft(server: ServerOptions): Promise<LoginDraft> {
    const { configOf, logins, origin } = this.#options
    const { name, oauth, transport } = configOf(server) ?? {}
    if (name === undefined || oauth === undefined || transport === undefined || !('url' in transport))
      throw new Fault('unavailable', 'this server is no longer configured')
    const settings = { ...oauth, ownDocument: (issuer: string) => clientDocumentUrl(origin, issuer) }
    const owner = server.owned?.owner ?? SHARED
    const login = {
      server: name,
      command: undefined,
      url: transport.url,
      settings,
      owner,
      network: transport,
    }
    const context = await loginContext(login, await logins.store())
    return {
      context,
      transport,
      record: await draftLogin(context, await askChallenge(transport), 'web'),
    }
  }

  /** Registers the client and returns the URL for the browser. Rejects with a Fault. */
  async begin(draft: LoginDraft): Promise<{ readonly url: URL; readonly started: StartedLogin }> {
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
    return { url, started: { draft, client, pending } }
  }

  /** Completes a login from the redirect. Rejects with a Fault that explains the failure. */
  async finish({ draft, client, pending }: StartedLogin, answer: URLSearchParams): Promise<void> {
    const { context, record } = draft
    const got = await finishLogin(context, pending, answer)
    if (got.is === 'refused' && got.error === 'invalid_client' && client.by === 'registration') {
      this.#dead.add(client.id)
      throw new Fault('unauthorized', 'its authorization server no longer knows this proxy; try again')
    }
    if (got.is !== 'tokens') {
      const why = got.is === 'failed' ? got.why : `its authorization server answered ${got.message}`
      throw new Fault('unauthorized', why)
    }
    await keepLogin(context.store, { ...record, client, tokens: got.tokens })
  }

  #redirectUri({ record: { discovery } }: LoginDraft): string {
    return this.#options.origin + callbackPath(discovery.server.issuer)
  }

  /** All users share one registration, which identifies only the proxy. */
  #knownClient(draft: LoginDraft): OAuthClient | undefined {
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
