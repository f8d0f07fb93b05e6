import type { AuthConfig } from '../../../config/types.js'
import type { Principal } from '../../../kernel/caller.js'
import { tokenHash } from '../../../secrets/personal-token.js'
import { withImplied } from '../../resource-server/scopes.js'

/** Who signed in, and what an identity provider says about them. */
export interface Account {
  readonly principal: Principal
  readonly groups: readonly string[]
}

export interface PeopleOptions {
  /** As it is configured at the moment. */
  readonly auth: () => AuthConfig
  /** All scopes that mean something here. */
  readonly scopes: () => readonly string[]
  /** Our own. */
  readonly issuer: string
}

const PERSON = 'person '

/** Who may sign in, and what for. What is set anew holds at once, for tokens too. */
export class People {
  readonly #options: PeopleOptions

  constructor(options: PeopleOptions) {
    this.#options = options
  }

  /** Whether the configuration has people; without any, who can run programs as this user is `local`. */
  get areNamed(): boolean {
    return this.#options.auth().people.length > 0
  }

  get haveTokens(): boolean {
    return this.#options.auth().people.some(({ tokens }) => tokens.length > 0)
  }

  /** The principal of a person of the configuration; undefined for an unknown name. */
  named(name: string): Principal | undefined {
    return this.#person(name) && `${PERSON}${name}`
  }

  /** Whose personal token it is, as a principal (AU-52b). */
  byToken(token: string): Principal | undefined {
    const hash = tokenHash(token)
    const now = Date.now()
    const person = this.#options
      .auth()
      .people.find(({ tokens }) => tokens.some(each => each.sha256 === hash && each.expiresMs > now))
    return person && `${PERSON}${person.name}`
  }

  /** The principal of a subject of an identity provider: a person where the configuration says so (AU-40). */
  bySubject(issuer: string, sub: string): Principal {
    const person = this.#options
      .auth()
      .people.find(({ subjects }) => subjects.some(each => each.issuer === issuer && each.sub === sub))
    return person === undefined ? `${issuer} ${sub}` : `${PERSON}${person.name}`
  }

  /** The principal of a program that authenticates as itself. */
  machine(clientId: string): Principal {
    return `${this.#options.issuer} ${clientId}`
  }

  /** The scopes of a principal without groups, without what they imply; none if it is not known. */
  ownScopes(principal: Principal): readonly string[] {
    return this.#ownScopes(principal, []) ?? []
  }

  /** Whether somebody may still sign in here. */
  isKnown(principal: Principal): boolean {
    return this.#ownScopes(principal, []) !== undefined
  }

  /** What someone may be granted, with all that this implies; undefined for who is not known (any more). */
  scopesOf({ principal, groups }: Account): ReadonlySet<string> | undefined {
    const own = this.#ownScopes(principal, groups)
    return own && withImplied(own, this.#options.auth().scopeImplies)
  }

  /** The part of the scopes that this account may have; undefined for an unknown one. */
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

  /** Of somebody whom only the identity provider knows. */
  #scopesOf(groups: readonly string[]): readonly string[] {
    const { baseScope, grants } = this.#options.auth()
    const matching = grants.filter(({ group }) => groups.includes(group))
    return matching.length === 0 ? [baseScope] : matching.flatMap(({ scopes }) => scopes)
  }
}
