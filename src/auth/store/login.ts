import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import type { UrlTransport } from '../../config/types.js'
import { systemClock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { type LoopbackListener, listenLoopback } from '../../transport/http/loopback-listener.js'
import { browserOf, openPage } from '../../transport/process/open-page.js'
import { beginDeviceLogin } from '../client/device-flow.js'
import { issuerId } from '../client/issuer-id.js'
import { beginLogin, finishLogin, type LoginRequest, type PendingLogin } from '../client/login-flow.js'
import { isMachineGrant } from '../client/machine-grants.js'
import type { CredentialRecord } from '../client/record.js'
import { becomeClient, givenClient } from '../client/register.js'
import type { OAuthSettings } from '../client/settings.js'
import { TokenSource } from '../client/token-source.js'
import type { OAuthClient, TokenAnswer } from '../client/tokens.js'
import { type AskedChallenge, askChallenge } from './challenge.js'
import type { CredentialFiles } from './files.js'
import { draftLogin, keepLogin } from './login-draft.js'
import { type LoginContext, loginContext } from './logins.js'

/** Options of an interactive login. */
export interface LoginOptions {
  /** Name or address of the server, as known to the user. */
  readonly server: string
  readonly transport: UrlTransport
  readonly settings: OAuthSettings
  /** Owner of the login; defaults to `shared`. */
  readonly owner?: string | undefined
  readonly store: CredentialFiles
  /** Allows opening a browser, if there is one. */
  readonly usesBrowser: boolean
  /** True if the user is at a terminal. */
  readonly isTerminal: boolean
  /** Reads lines with a pasted redirect address. */
  readonly readLines: () => AsyncIterable<string>
  readonly wantsDevice: boolean
  /** Registers a new client. */
  readonly forgetsClient: boolean
  readonly timeoutMs: number
  readonly print: (line: string) => void
}

/**
 * The redirect URI of a configured client or metadata document. It differs by issuer, because several may
 * know the same client (RFC 9700 §4.4.2).
 */
const redirectFor = ({ server }: CredentialRecord['discovery']): string =>
  `http://127.0.0.1:41873/callback/${issuerId(server.issuer)}`

/** The redirect URI of a dynamic registration, whose client id is unique: with any port. */
const ANY_PORT = 'http://127.0.0.1:0/callback'
/** Maximum wait for a fixed port, which another login may be using. */
const PORT_WAIT_MS = 5000
const POLL_MS = 50

/** Signs in at a server. Resolves with the stored login; rejects with a Fault that explains the failure. */
export const logIn = async (options: LoginOptions): Promise<CredentialRecord> => {
  const { server, settings, owner, store, transport } = options
  // Keeps the process alive, which the clock's timers do not.
  const alive = setInterval(() => undefined, 60_000)
  try {
    const asked = await askChallenge(transport)
    const command = `mcp-proxy auth login ${server}`
    const context = await loginContext(
      { server, command, url: transport.url, settings, owner, network: transport },
      store,
    )
    return await new Login(options, context, asked).run()
  } finally {
    clearInterval(alive)
  }
}

class Login {
  readonly #options: LoginOptions
  readonly #context: LoginContext
  readonly #asked: AskedChallenge
  readonly #browser: ReturnType<typeof browserOf>
  /** True if the user opens the page and pastes the resulting address. */
  readonly #isByHand: boolean

  constructor(options: LoginOptions, context: LoginContext, asked: AskedChallenge) {
    this.#options = options
    this.#context = context
    this.#asked = asked
    const { usesBrowser, isTerminal } = options
    this.#browser = usesBrowser ? browserOf(process.env, isTerminal) : undefined
    this.#isByHand = !usesBrowser || (this.#browser === undefined && isTerminal)
  }

  async run(): Promise<CredentialRecord> {
    const { challenge } = this.#asked
    if (isMachineGrant(this.#options.settings)) return await new TokenSource(this.#context).acquire(challenge)
    return await this.#signIn(await draftLogin(this.#context, this.#asked, 'loopback'))
  }

  async #signIn(draft: CredentialRecord): Promise<CredentialRecord> {
    const { settings, store, wantsDevice } = this.#options
    const isDevice = wantsDevice || settings.grant === 'device' || this.#mustUseDevice(draft.discovery)
    const { client, answer } = isDevice ? await this.#byDevice(draft) : await this.#byBrowser(draft)
    if (answer.is === 'failed') throw refused(answer.why)
    if (answer.is === 'refused') {
      throw refused(`the authorization server refused the login: ${answer.message}`)
    }
    const record = { ...draft, client, tokens: answer.tokens }
    await keepLogin(store, record)
    return record
  }

  /** Reports whether only a device login is possible here. */
  #mustUseDevice({ server }: CredentialRecord['discovery']): boolean {
    return (
      server.device_authorization_endpoint !== undefined && this.#browser === undefined && !this.#isByHand
    )
  }

  async #byDevice(draft: CredentialRecord): Promise<{ client: OAuthClient; answer: TokenAnswer }> {
    const { settings, print, timeoutMs } = this.#options
    const { discovery, asked: scopes, dpopKey } = draft
    const client = await this.#becomeClient(draft, settings.redirectUri ?? redirectFor(discovery))
    const context = { ...this.#context, clock: systemClock }
    const login = await beginDeviceLogin(context, { discovery, client, settings, scopes, dpopKey })
    print(`Open this on any device:  ${login.url}\nand enter the code:  ${login.userCode}`)
    return {
      client,
      answer: await within(login.poll(), { clock: systemClock, ms: timeoutMs, timedOut: late }),
    }
  }

  async #byBrowser(draft: CredentialRecord): Promise<{ client: OAuthClient; answer: TokenAnswer }> {
    const first = await this.#inBrowser(draft)
    const { client, answer } = first
    const isForgotten = answer.is === 'refused' && answer.error === 'invalid_client'
    // The authorization server does not know the registration any more: retry with a new one.
    return isForgotten && client.by === 'registration'
      ? await this.#inBrowser({ ...draft, client: undefined })
      : first
  }

  async #inBrowser(draft: CredentialRecord): Promise<{ client: OAuthClient; answer: TokenAnswer }> {
    let listener = await this.#listen(draft)
    const { discovery, asked: scopes, dpopKey } = draft
    const { settings } = this.#options
    try {
      const client = await this.#becomeClient(draft, listener.redirectUri)
      const { redirectUri = listener.redirectUri } = client
      if (redirectUri !== listener.redirectUri) {
        // The authorization server changed the redirect URI.
        listener.close()
        listener = await this.#listenAt(redirectUri)
      }
      const answer = await this.#visit(listener, {
        discovery,
        client,
        scopes,
        settings,
        redirectUri,
        dpopKey,
      })
      return { client, answer }
    } finally {
      listener.close()
    }
  }

  #becomeClient({ discovery, client, asked }: CredentialRecord, redirectUri: string): Promise<OAuthClient> {
    const { settings, forgetsClient } = this.#options
    return becomeClient(this.#context, {
      ...{ discovery, settings, redirectUri, scopes: asked },
      appRedirectUri: settings.redirectUri ?? redirectFor(discovery),
      applicationType: 'native',
      clientName: `mcp-proxy (${hostname()})`,
      known: forgetsClient ? undefined : client,
    })
  }

  /** Listens on the registered port; a dynamic registration may move to another one. */
  async #listen({ client, discovery }: CredentialRecord): Promise<LoopbackListener> {
    const { settings } = this.#options
    const isRegistered = givenClient(discovery, settings, undefined) === undefined
    const isFree = isRegistered && discovery.server.registration_endpoint !== undefined
    if (!isFree || settings.redirectUri !== undefined)
      return await this.#listenAt(settings.redirectUri ?? redirectFor(discovery))
    const { redirectUri = ANY_PORT } = client ?? {}
    return (await listenLoopback(redirectUri)) ?? (await this.#listenAt(ANY_PORT))
  }

  async #listenAt(wanted: string): Promise<LoopbackListener> {
    const endMs = performance.now() + Math.min(PORT_WAIT_MS, this.#options.timeoutMs)
    for (;;) {
      const listener = await listenLoopback(wanted)
      if (listener !== undefined) return listener
      if (performance.now() >= endMs) break
      await setTimeout(POLL_MS)
    }
    throw new Fault(
      'unavailable',
      `port ${new URL(wanted).port}, to which the browser is sent (${wanted}), is taken by another program: end it,` +
        ' or register another redirect URI and set oauth.redirectUri',
    )
  }

  /** Sends the user to the authorization server, and waits for the response. */
  async #visit(listener: LoopbackListener, request: LoginRequest): Promise<TokenAnswer> {
    const { print, timeoutMs, server } = this.#options
    const { url, pending } = beginLogin(request)
    const { host } = url
    const scopes = request.scopes === undefined ? '' : `, scopes ${sanitizeLine(request.scopes.join(' '))}`
    print(`Signing in at ${host} for ${server}${scopes}.`)
    if (request.discovery.server.authorization_response_iss_parameter_supported !== true)
      print(`The next page must be at ${host}. If it is at another host, close it.`)
    if (request.client.by !== 'registration')
      print(`The redirect URI, which must be registered there: ${request.redirectUri}`)
    const answer = listener.answerTo(pending.state)
    const opened = this.#browser && (await openPage(this.#browser, url))
    const minutes = Math.max(1, Math.round(timeoutMs / 60_000))
    print(
      opened === undefined
        ? `Open this on any machine:  ${url.href}`
        : `Opening ${url.href} in your browser (or open it yourself). Waiting ${minutes} min …`,
    )
    const answers = [answer, this.#pastedAnswer(pending)]
    const parameters = await within(Promise.race(answers), {
      clock: systemClock,
      ms: timeoutMs,
      timedOut: late,
    }).finally(() => opened?.close())
    return await finishLogin(this.#context, pending, parameters)
  }

  /** Reads the response from a pasted address; never resolves without a terminal. */
  async #pastedAnswer({ state, redirectUri }: PendingLogin): Promise<URLSearchParams> {
    const { readLines, print } = this.#options
    if (this.#isByHand) {
      print('Paste the address where your browser ended:')
      for await (const line of readLines()) {
        const text = line.trim()
        const address = URL.canParse(text) ? new URL(text) : undefined
        const isHere = address?.pathname === new URL(redirectUri).pathname
        if (isHere && address.searchParams.get('state') === state) return address.searchParams
        if (text !== '')
          print('This is not the address of this login: paste all of it, with "code" and "state".')
      }
    }
    return await new Promise(() => undefined)
  }
}

const late = (): Fault => refused('the login was not completed in time')

const refused = (message: string): Fault =>
  new Fault('unauthorized', message, { data: { reason: 'needs-auth' } })
