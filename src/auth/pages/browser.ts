import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuthConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { LOCAL, type Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { AuthServer } from '../authorization-server/server.js'
import { Approvals } from '../authorization-server/sign-in/approvals.js'
import type { PendingSignIn } from '../authorization-server/sign-in/identity-provider.js'
import { type Account, SignedInPeople } from '../authorization-server/sign-in/people.js'
import { PerMinute } from '../per-minute.js'
import type { RefusedCredentials } from '../refused-credentials.js'
import { SIGN_IN_LINK_PATH } from './sign-in-links.js'

export interface BrowsersOptions {
  /** Undefined if no authentication is required. */
  readonly auth: () => AuthConfig | undefined
  readonly authServer: AuthServer | undefined
  readonly stateDir: string
  readonly refusals?: RefusedCredentials | undefined
  readonly bounds: LimitCounters
  readonly clock: Clock
}

/** Methods by which the user of a browser can authenticate. */
export interface IdentificationMethods {
  /** True if personal tokens are accepted. */
  readonly byToken: boolean
  /** Host of the identity provider, if configured. */
  readonly provider: string | undefined
  /** Code for `mcp-proxy auth approve`. */
  readonly code: string | undefined
}

/** The page on which a token was entered, and the client's address. */
interface TokenOrigin {
  readonly visit: string
  readonly path?: string
  readonly server: string
  readonly address: string
}

/** Identifies the users of browsers. */
export class Browsers {
  readonly #options: BrowsersOptions
  readonly #failures: PerMinute
  readonly #approvals: Approvals

  constructor(options: BrowsersOptions) {
    const { authServer, bounds } = options
    this.#options = options
    this.#failures = new PerMinute(options.clock)
    // Shared, because a wrong code counts against every waiting sign-in.
    this.#approvals =
      authServer?.approvals ??
      new Approvals({ ...options, most: bounds.max.loginFlows, principalOf: asLocal })
  }

  /** Returns the user who signed in at the embedded authorization server with this browser. */
  signedInAs(request: IncomingMessage, response: ServerResponse): Principal | undefined {
    return this.#options.authServer?.signedInAs(request, response)
  }

  /** Returns the methods by which `principal` can authenticate in the browser `visit`, to do `what`. */
  methodsFor(principal: Principal, visit: string, what: string): IdentificationMethods {
    const { authServer } = this.#options
    const isLocal = principal === LOCAL.principal
    return {
      byToken: !isLocal && this.#people?.haveTokens === true,
      provider:
        isLocal || authServer?.identityProvider === undefined
          ? undefined
          : new URL(authServer.identityProvider.issuer).host,
      code: isLocal
        ? this.#approvals.codeOf(visit, { what, owner: principal, principalOf: asLocal })
        : undefined,
    }
  }

  approved(visit: string): Principal | undefined {
    return this.#approvals.approved(visit)
  }

  forget(visit: string): void {
    this.#approvals.forget(visit)
  }

  /** Returns the person who signed in with this browser, unless a client with a token could have done it. */
  presentAs(request: IncomingMessage, response: ServerResponse): Principal | undefined {
    const principal = this.signedInAs(request, response)
    return this.#people?.hasPageProof(principal) === true ? undefined : principal
  }

  /** Returns the scopes of a user; undefined without any. */
  scopesOf(account: Account): ReadonlySet<string> | undefined {
    return this.#people?.scopesOf(account)
  }

  /** Returns the owner of a personal token; undefined for a wrong one, or after too many wrong ones. */
  byToken(token: string, from: TokenOrigin): Principal | undefined {
    return this.#byToken(from, people => people.byToken(token))
  }

  /** Like `byToken`, for a page on which the person must be present. */
  byPageToken(token: string, from: TokenOrigin): Principal | undefined {
    return this.#byToken(from, people => people.byPageToken(token))
  }

  #byToken(
    { visit, path = SIGN_IN_LINK_PATH, server, address }: TokenOrigin,
    find: (people: SignedInPeople) => Principal | undefined,
  ): Principal | undefined {
    const { bounds, refusals } = this.#options
    const isTooOften = this.#failures.count(visit) >= bounds.max.authFailures
    const people = isTooOften ? undefined : this.#people
    const principal = people && find(people)
    if (principal !== undefined) return principal
    if (isTooOften) bounds.hit('authFailures', { client: address })
    else this.#failures.add(visit)
    const why = 'the personal token is unknown or expired'
    refusals?.report({ address, path, why, server })
    return undefined
  }

  /** Starts a sign-in at the identity provider. Rejects with a Fault if it cannot be asked. */
  async startSignIn(): Promise<{ readonly url: URL; readonly pending: PendingSignIn }> {
    const provider = this.#options.authServer?.identityProvider
    if (provider === undefined) throw new Fault('unavailable', 'no identity provider is configured')
    return await provider.start()
  }

  /** Returns the user who signed in there. Rejects if the sign-in failed. */
  async finishSignIn(answer: URLSearchParams, pending: PendingSignIn): Promise<Account | undefined> {
    const identity = await this.#options.authServer?.identityProvider?.finish(answer, pending)
    const principal = identity && this.#people?.bySubject(identity.issuer, identity.sub)
    return principal === undefined ? undefined : { principal, groups: identity?.groups ?? [] }
  }

  close(): void {
    this.#approvals.close()
  }

  get #people(): SignedInPeople | undefined {
    const auth = this.#options.auth()
    return auth && new SignedInPeople({ auth: () => auth, scopes: () => [], issuer: '' })
  }
}

/** A shell of this operating system user acts as `local`, even if people are configured. */
const asLocal = (as: string | undefined) =>
  as === undefined
    ? { principal: LOCAL.principal }
    : { why: 'this is a login of local programs: leave out --as' }
