import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Client, Interaction, InteractionResults, Provider } from 'oidc-provider'
import { basePathOf } from '../../../kernel/base-url.js'
import type { Principal } from '../../../kernel/caller.js'
import { Fault } from '../../../kernel/faults.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Logger } from '../../../kernel/logger.js'
import { sanitizeLine } from '../../../kernel/secrets/mask.js'
import { tokenHash } from '../../../kernel/secrets/personal-token.js'
import { addressGroup, type PerMinute } from '../../per-minute.js'
import type { RefusedCredentials } from '../../refused-credentials.js'
import { addressOf, type GrantEvent, type OnGrantEvent } from '../grant-events.js'
import { SIGN_IN_PATH } from '../metadata.js'
import { isLoopback, isNative, isRemembered, redirectHost } from '../redirect-uris.js'
import { isSameText, type Store } from '../store.js'
import { readForm } from '../token-request.js'
import type { Approvals } from './approvals.js'
import type { Consents } from './consents.js'
import { Cookies, remembersUsers } from './cookies.js'
import { type IdentityProvider, SignInRefused } from './identity-provider.js'
import type { IdentitySessions } from './identity-sessions.js'
import { redirect, sendPage } from './page.js'
import type { PendingLogins } from './pending-logins.js'
import type { Account, SignedInPeople } from './people.js'
import { OVER, signInPage } from './sign-in-page.js'

export interface SignInOptions {
  readonly issuer: URL
  readonly baseScope: string
  readonly provider: Provider
  readonly store: Store
  readonly people: SignedInPeople
  readonly consents: Consents
  readonly approvals: Approvals
  /** The identity provider, if any. */
  readonly login:
    | {
        readonly provider: IdentityProvider
        readonly sessions: IdentitySessions
        readonly pending: PendingLogins
      }
    | undefined
  /** Wrong personal tokens by sign-in, so that others cannot use up a user's attempts. */
  readonly failures: PerMinute
  readonly refusals: RefusedCredentials
  readonly onEvent: OnGrantEvent
  /** Key for the forms of the pages, shared by all replicas. */
  readonly formKey: Uint8Array
  readonly bounds: LimitCounters
  readonly log: Logger
}

/** A sign-in in progress, in the browser that started it. */
interface Flow {
  readonly interaction: Interaction
  readonly client: Client
  readonly redirect: URL
  readonly scopes: readonly string[]
  readonly cookies: Cookies
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

type SignedIn = Account & { readonly session?: string | undefined }

const NAME_LENGTH = 80

/** The pages on which users sign in and consent to clients' requests. */
export class SignInFlow {
  readonly #options: SignInOptions

  constructor(options: SignInOptions) {
    this.#options = options
  }

  /** Answers a request for a sign-in page. */
  async handle(request: IncomingMessage, response: ServerResponse, uid: string): Promise<void> {
    const cookies = new Cookies(this.#options.issuer, request, response)
    // A browser that got a link to another user's sign-in lacks its cookie.
    const interaction =
      cookies.get('flow') === uid ? await this.#options.provider.Interaction.find(uid) : undefined
    const flow = interaction && (await this.#flow(interaction, cookies, { request, response }))
    if (flow === undefined) {
      sendPage(response, OVER)
      return
    }
    await this.#options.store.fetched(uid)
    if (request.method === 'POST') await this.#post(flow)
    else await this.#show(flow)
  }

  /** Answers the browser's return from the identity provider. */
  async callback(request: IncomingMessage, response: ServerResponse, answer: URLSearchParams): Promise<void> {
    const { issuer, login, people, provider } = this.#options
    const cookies = new Cookies(issuer, request, response)
    const pending = login?.pending.take(answer.get('state') ?? '')
    const path = `${SIGN_IN_PATH}/${pending?.flow ?? ''}`
    const isSameBrowser = pending !== undefined && cookies.get('login', { path }) === tokenHash(pending.state)
    const interaction = isSameBrowser ? await provider.Interaction.find(pending.flow) : undefined
    const flow = interaction && (await this.#flow(interaction, cookies, { request, response }))
    if (login === undefined || pending === undefined || flow === undefined) {
      sendPage(response, OVER)
      return
    }
    cookies.set('login', undefined, { path })
    try {
      const identity = await login.provider.finish(answer, pending)
      const principal = people.bySubject(identity.issuer, identity.sub)
      const session = await login.sessions.add(principal, identity)
      await this.#allow(flow, { principal, groups: identity.groups, session })
    } catch (thrown) {
      await this.#end(flow, this.#refusal(thrown))
    }
  }

  /** Returns the client's error for a failed login. */
  #refusal(thrown: unknown): InteractionResults {
    if (thrown instanceof SignInRefused) {
      return { error: 'access_denied', error_description: 'the identity provider rejected the sign-in' }
    }
    this.#options.log.warn({ err: thrown }, 'a sign-in at the identity provider failed')
    return { error: 'temporarily_unavailable', error_description: Fault.from(thrown).message }
  }

  async #flow(
    interaction: Interaction,
    cookies: Cookies,
    exchange: Pick<Flow, 'request' | 'response'>,
  ): Promise<Flow | undefined> {
    const { client_id: id, redirect_uri: redirect, scope } = interaction.params
    const client = await this.#options.provider.Client.find(String(id))
    const scopes = typeof scope === 'string' ? scope.split(' ') : []
    return (
      client && { interaction, client, redirect: new URL(String(redirect)), scopes, cookies, ...exchange }
    )
  }

  async #show(flow: Flow, problem?: string): Promise<void> {
    const { approvals, people } = this.#options
    const approved = approvals.approved(flow.interaction.uid)
    if (approved !== undefined) {
      await this.#allow(flow, { principal: approved, groups: [] })
      return
    }
    const { baseScope, login } = this.#options
    const { client, interaction, redirect, response, scopes } = flow
    const { clientId, clientName } = client
    const signedInAs = this.#sessionOf(interaction)?.accountId
    const isApproved = signedInAs === undefined && login === undefined
    const name = (clientName ?? clientId).slice(0, NAME_LENGTH)
    const code = isApproved
      ? approvals.codeOf(interaction.uid, {
          what: `${name}, which gets its codes at ${redirectHost(redirect)},`,
          owner: this.#ownerOf(flow),
        })
      : undefined
    if (isApproved && code === undefined) {
      await interaction.destroy()
      sendPage(response, OVER)
      return
    }
    sendPage(
      response,
      signInPage({
        clientName: name,
        redirectHost: redirectHost(redirect),
        isLocal: isNative(redirect) || isLoopback(redirect),
        documentHost: URL.canParse(clientId) ? new URL(clientId).host : undefined,
        resources: resourcesOf(interaction),
        scopes,
        baseScope,
        path: `${basePathOf(this.#options.issuer)}${SIGN_IN_PATH}/${interaction.uid}`,
        csrf: this.#csrf(interaction.uid),
        signedInAs: signedInAs?.replace(/^person /, ''),
        provider: login && new URL(login.provider.issuer).host,
        canUseToken: people.haveTokens,
        code,
        isNamed: people.areNamed,
        problem,
      }),
    )
  }

  async #post(flow: Flow): Promise<void> {
    const { request, response, interaction } = flow
    const form = (await readForm(request)) ?? new URLSearchParams()
    // A page without a referrer may send `Origin: null`; then the form token decides.
    const { origin = 'null' } = request.headers
    const isOurs = origin === 'null' || origin === this.#options.issuer.origin
    if (!isOurs || !isSameText(form.get('csrf') ?? '', this.#csrf(interaction.uid))) {
      sendPage(response, { ...OVER, status: 403 })
      return
    }
    switch (form.get('action') ?? '') {
      case 'deny':
        await this.#end(flow, { error: 'access_denied', error_description: 'the user denied access' })
        break
      case 'login':
        await this.#login(flow)
        break
      case 'switch':
        await this.#forgetSession(flow)
        await this.#show(flow)
        break
      default:
        await this.#prove(flow, form.get('token') ?? '')
    }
  }

  /** Returns the session that identifies the browser's user. */
  #sessionOf({ session }: Interaction): Interaction['session'] {
    return remembersUsers(this.#options.issuer) ? session : undefined
  }

  /** The user allowed access: identifies the user by token, approval, or session. */
  async #prove(flow: Flow, token: string): Promise<void> {
    const { login, people } = this.#options
    const { accountId, amr } = this.#sessionOf(flow.interaction) ?? {}
    if (token !== '') {
      const principal = this.#byToken(token.trim(), flow)
      if (principal === undefined) await this.#show(flow, 'No person has this token.')
      else await this.#allow(flow, { principal, groups: [] })
    } else if (accountId !== undefined) {
      const session = amr?.[0]
      await this.#allow(flow, {
        principal: accountId,
        groups: login?.sessions.groupsOf(session) ?? [],
        session,
      })
    } else
      await this.#show(
        flow,
        people.haveTokens ? 'Enter your token, or have the sign-in approved.' : undefined,
      )
  }

  /** Returns the owner of a token, unless too many were wrong in this sign-in. */
  #byToken(token: string, { client, interaction, request }: Flow): Principal | undefined {
    const { bounds, failures, people, refusals } = this.#options
    const { uid } = interaction
    const address = addressOf(request)
    const isTooOften = failures.count(uid) >= bounds.max.authFailures
    const principal = isTooOften ? undefined : people.byToken(token)
    if (principal !== undefined) return principal
    if (isTooOften) bounds.hit('authFailures', { client: address })
    else failures.add(uid)
    const why = 'the personal token is unknown or expired'
    refusals.report({ address, path: SIGN_IN_PATH, why, client: sanitizeLine(client.clientId) })
    return undefined
  }

  /** Limits sign-ins by client and network, so that one network cannot end the sign-ins of others. */
  #ownerOf({ client, request }: Flow): string {
    return `${client.clientId} ${addressGroup(addressOf(request))}`
  }

  /** Sends the user to the identity provider, after the consent on the local page. */
  async #login(flow: Flow): Promise<void> {
    const { login } = this.#options
    const { uid } = flow.interaction
    if (login === undefined) {
      await this.#show(flow)
      return
    }
    try {
      const { url, pending } = await login.provider.start()
      login.pending.add({ ...pending, flow: uid }, this.#ownerOf(flow))
      flow.cookies.set('login', tokenHash(pending.state), { path: `${SIGN_IN_PATH}/${uid}` })
      redirect(flow.response, url.href)
    } catch (thrown) {
      this.#options.log.warn({ err: thrown }, 'the identity provider cannot be asked')
      await this.#show(flow, Fault.from(thrown).message)
    }
  }

  /** Grants the requested scopes that the user has. */
  async #allow(flow: Flow, { session, ...account }: SignedIn): Promise<void> {
    const { consents, people, provider } = this.#options
    const { client, interaction, redirect: target, scopes } = flow
    const { principal } = account
    const granted = people.granted(account, scopes) ?? []
    if (granted.length === 0) {
      const message = `${principal} does not have the requested scopes`
      await this.#end(flow, { error: 'access_denied', error_description: message })
      return
    }
    const grant = new provider.Grant({ accountId: principal, clientId: client.clientId })
    const resources = resourcesOf(interaction)
    for (const resource of resources) grant.addResourceScope(resource, [...granted])
    const { clientId, applicationType } = client
    if (isRemembered(applicationType, target))
      await consents.add({ principal, clientId, host: redirectHost(target), resources, scopes })
    if (!isNative(target))
      await consents.addRedirect(principal, clientId, String(interaction.params['redirect_uri']))
    const grantId = await grant.save()
    if (interaction.session?.accountId !== principal) {
      await this.#forgetSession(flow)
      this.#report('signed in', flow, principal)
    }
    const login = { accountId: principal, ...(session !== undefined && { amr: [session] }) }
    await this.#end(flow, { login, consent: { grantId } })
  }

  /** Removes the user's session from this browser. */
  async #forgetSession({ cookies, interaction }: Flow): Promise<void> {
    const id = cookies.get('session')
    if (id !== undefined) await this.#options.store.store('Session').delete(tokenHash(id))
    delete interaction.session
    await interaction.persist()
  }

  /** Passes the outcome to oidc-provider, which redirects to the client. */
  async #end(flow: Flow, result: InteractionResults): Promise<void> {
    const { cookies, interaction, response } = flow
    if (result.error !== undefined)
      this.#report('denied', flow, this.#sessionOf(interaction)?.accountId, String(result.error_description))
    this.#options.approvals.forget(interaction.uid)
    interaction.result = result
    await interaction.persist()
    cookies.set('flow', undefined, { path: `${SIGN_IN_PATH}/${interaction.uid}` })
    redirect(response, interaction.returnTo)
  }

  #report(
    event: GrantEvent['event'],
    { client, redirect: target, request, scopes }: Flow,
    principal: Principal | undefined,
    why?: string,
  ): void {
    this.#options.onEvent({
      ...{ event, principal, client: client.clientId, scopes, why },
      redirectHost: redirectHost(target),
      address: addressOf(request),
    })
  }

  #csrf(uid: string): string {
    return createHmac('sha256', this.#options.formKey).update(uid).digest('base64url')
  }
}

const resourcesOf = ({ params }: Interaction): readonly string[] => [params['resource']].flat().map(String)
