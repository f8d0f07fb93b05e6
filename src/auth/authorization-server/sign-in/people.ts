import type { AuthConfig } from '../../../config/types.js'
import type { Principal } from '../../../kernel/caller.js'
import { withImplied } from '../../../kernel/implied-scopes.js'
import { tokenHash } from '../../../kernel/secrets/personal-token.js'

/** A signed-in user, with the groups from an identity provider. */
export interface Account {
  readonly principal: Principal
  readonly groups: readonly string[]
}

export interface PeopleOptions {
  /** Returns the current configuration. */
  readonly auth: () => AuthConfig
  /** Returns all known scopes. */
  readonly scopes: () => readonly string[]
  /** The issuer of this server. */
  readonly issuer: string
}

const PERSON = 'person '

/** Returns the principal of the person with this name. */
export const personal = (name: string): Principal => `${PERSON}${name}`

/** The users who may sign in, and their scopes. Changes apply at once, also to issued tokens. */
export class SignedInPeople {
  readonly #options: PeopleOptions

  constructor(options: PeopleOptions) {
    this.#options = options
  }

  /** True if the configuration has people; otherwise the operating system user is `local`. */
  get areNamed(): boolean {
    return this.#options.auth().people.length > 0
  }

  get haveTokens(): boolean {
    return this.#options.auth().people.some(({ tokens }) => tokens.length > 0)
  }

  /** Returns the principal of a configured person; undefined for an unknown name. */
  named(name: string): Principal | undefined {
    return this.#person(name) && personal(name)
  }

  /** Returns the principal of a personal token that is not only for approval pages. */
  byToken(token: string): Principal | undefined {
    const found = this.#byToken(token)
    return found?.for === undefined ? found?.principal : undefined
  }

  /** Returns the principal of a token that proves on an approval page that its user is present. */
  byPageToken(token: string): Principal | undefined {
    const found = this.#byToken(token)
    return found?.for === 'page' || !this.hasPageProof(found?.principal) ? found?.principal : undefined
  }

  /** Returns whether a person can prove to be present by more than a token that clients hold. */
  hasPageProof(principal: Principal | undefined): boolean {
    const { people, embedded } = this.#options.auth()
    const person = people.find(({ name }) => personal(name) === principal)
    if (person === undefined) return false
    const issuer = embedded?.login?.issuer
    return (
      person.tokens.some(each => each.for === 'page') ||
      (issuer !== undefined && person.subjects.some(each => each.issuer === issuer))
    )
  }

  #byToken(token: string): { readonly principal: Principal; readonly for: 'page' | undefined } | undefined {
    const hash = tokenHash(token)
    const now = Date.now()
    for (const { name, tokens } of this.#options.auth().people) {
      const found = tokens.find(each => each.sha256 === hash && each.expiresMs > now)
      if (found !== undefined) return { principal: personal(name), for: found.for }
    }
    return undefined
  }

  /** Returns the principal of an identity provider's subject: the configured person, if any. */
  bySubject(issuer: string, sub: string): Principal {
    const person = this.#options
      .auth()
      .people.find(({ subjects }) => subjects.some(each => each.issuer === issuer && each.sub === sub))
    return person === undefined ? `${issuer} ${sub}` : personal(person.name)
  }

  /** Returns the principal of a client that authenticates as itself. */
  machine(clientId: string): Principal {
    return `${this.#options.issuer} ${clientId}`
  }

  /** Returns the scopes of a principal, without groups and implied scopes; empty if it is unknown. */
  ownScopes(principal: Principal): readonly string[] {
    return this.#ownScopes(principal, []) ?? []
  }

  /** Reports whether a principal may still sign in. */
  isKnown(principal: Principal): boolean {
    return this.#ownScopes(principal, []) !== undefined
  }

  /** Returns all scopes that may be granted, including implied ones; undefined for an unknown account. */
  scopesOf({ principal, groups }: Account): ReadonlySet<string> | undefined {
    const own = this.#ownScopes(principal, groups)
    return own && withImplied(own, this.#options.auth().scopeImplies)
  }

  /** Keeps only scopes of the account; undefined for an unknown account. */
  granted(account: Account, scopes: Iterable<string>): readonly string[] | undefined {
    const own = this.scopesOf(account)
    return own && [...scopes].filter(scope => own.has(scope))
  }

  #person(name: string) {
    return this.#options.auth().people.find(each => each.name === name)
  }

  #ownScopes(principal: Principal, groups: readonly string[]): readonly string[] | undefined {
    const { baseScope, embedded } = this.#options.auth()
    if (principal === 'local') return this.areNamed ? undefined : this.#options.scopes()
    const known = principal.startsWith(PERSON)
      ? this.#person(principal.slice(PERSON.length))
      : embedded?.clients.find(({ id }) => this.machine(id) === principal)
    if (known !== undefined) return known.scopes ?? [baseScope]
    const login = embedded?.login
    return login !== undefined && principal.startsWith(`${login.issuer} `)
      ? this.#scopesOf(groups)
      : undefined
  }

  /** Returns the scopes of a user known only to the identity provider. */
  #scopesOf(groups: readonly string[]): readonly string[] {
    const { baseScope, grants } = this.#options.auth()
    const matching = grants.filter(({ group }) => groups.includes(group))
    return matching.length === 0 ? [baseScope] : matching.flatMap(({ scopes }) => scopes)
  }
}
