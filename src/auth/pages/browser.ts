import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AuthConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { LOCAL, type Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { AuthServer } from '../authorization-server/server.js'
import { Approvals } from '../authorization-server/sign-in/approvals.js'
import { People } from '../authorization-server/sign-in/people.js'
import { PerMinute } from '../per-minute.js'
import type { RefusedCredentials } from '../refused-credentials.js'
import type { PendingSignIn } from '../sign-in/identity-provider.js'
import { CONNECT_PATH } from './sign-in-links.js'

export interface BrowsersOptions {
  /** Undefined if nobody has to prove who they are. */
  readonly auth: () => AuthConfig | undefined
  readonly authServer: AuthServer | undefined
  readonly stateDir: string
  readonly refusals?: RefusedCredentials | undefined
  readonly bounds: LimitCounters
  readonly clock: Clock
}

/** Ways in which somebody in front of a browser can prove who they are (AD-50). */
export interface Ways {
  /** Whether personal tokens are one. */
  readonly byToken: boolean
  /** The host of the identity provider, where there is one. */
  readonly provider: string | undefined
  /** The code for `mcp-proxy auth approve`. */
  readonly code: string | undefined
}

/** Finds out who sits in front of a browser. */
export class Browsers {
  readonly #options: BrowsersOptions
  readonly #failures: PerMinute
  readonly #approvals: Approvals

  constructor(options: BrowsersOptions) {
    const { authServer, bounds } = options
    this.#options = options
    this.#failures = new PerMinute(options.clock)
    // One for all: a wrong code counts against every sign-in that waits.
    this.#approvals =
      authServer?.approvals ??
      new Approvals({ ...options, most: bounds.max.loginFlows, principalOf: asLocal })
  }

  /** Who has signed in at our own authorization server with it. */
  signedInAs(request: IncomingMessage, response: ServerResponse): Principal | undefined {
    return this.#options.authServer?.signedInAs(request, response)
  }

  /** How `principal` can prove that it is this browser, which `visit` stands for, that wants `what`. */
  waysFor(principal: Principal, visit: string, what: string): Ways {
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

  /** Whose personal token it is; undefined for a wrong one, or if too many of this visit were wrong. */
  byToken(
    token: string,
    { visit, server, address }: { readonly visit: string; readonly server: string; readonly address: string },
  ): Principal | undefined {
    const { bounds, refusals } = this.#options
    const isTooOften = this.#failures.count(visit) >= bounds.max.authFailures
    const principal = isTooOften ? undefined : this.#people?.byToken(token)
    if (principal !== undefined) return principal
    if (isTooOften) bounds.hit('authFailures', { client: address })
    else this.#failures.add(visit)
    const why = 'the personal token is not known, or no longer'
    refusals?.report({ address, path: CONNECT_PATH, why, server })
    return undefined
  }

  /** Begins a sign-in at the identity provider. Rejects with a Fault if it cannot be asked. */
  async startSignIn(): Promise<{ readonly url: URL; readonly pending: PendingSignIn }> {
    const provider = this.#options.authServer?.identityProvider
    if (provider === undefined) throw new Fault('unavailable', 'there is no identity provider')
    return await provider.start()
  }

  /** Who has signed in there. Rejects if nobody has. */
  async finishSignIn(answer: URLSearchParams, pending: PendingSignIn): Promise<Principal | undefined> {
    const identity = await this.#options.authServer?.identityProvider?.finish(answer, pending)
    return identity && this.#people?.bySubject(identity.issuer, identity.sub)
  }

  close(): void {
    this.#approvals.close()
  }

  get #people(): People | undefined {
    const auth = this.#options.auth()
    return auth && new People({ auth: () => auth, scopes: () => [], issuer: '' })
  }
}

/** Who has a shell of our user is `local`, whoever else there is. */
const asLocal = (as: string | undefined) =>
  as === undefined
    ? { principal: LOCAL.principal }
    : { why: 'this is a login of local programs: leave out --as' }
