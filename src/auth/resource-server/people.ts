import type { Caller, Proof } from '../../kernel/caller.js'
import { type ScopeImplies, withImplied } from '../../kernel/implied-scopes.js'
import type { TokenTable, VerifiedToken } from './tokens.js'

/** Configured people and scopes; may change at any time. */
export interface AccessRules {
  readonly people: readonly {
    readonly name: string
    readonly tokens: readonly {
      readonly sha256: string
      readonly expiresMs: number
      readonly for?: 'page' | undefined
    }[]
    readonly subjects: readonly { readonly issuer: string; readonly sub: string }[]
    /** Undefined for the base scope only. */
    readonly scopes: readonly string[] | undefined
  }[]
  readonly baseScope: string
  readonly grants: readonly { readonly group: string; readonly scopes: readonly string[] }[]
  readonly scopeImplies: ScopeImplies
}

interface Person {
  readonly principal: string
  readonly scopes: readonly string[]
}

/** The configured people with their tokens, and the rights of all kinds of tokens. */
export class People implements TokenTable {
  readonly #rules: AccessRules
  readonly #tokens = new Map<string, VerifiedToken>()
  /** By issuer and subject. */
  readonly #subjects = new Map<string, Person>()
  readonly #callers = new WeakMap<VerifiedToken, Caller>()

  constructor(rules: AccessRules) {
    this.#rules = rules
    for (const { name, tokens, subjects, scopes = [rules.baseScope] } of rules.people) {
      const principal = `person ${name}`
      const every = { principal, audience: undefined, scopes, groups: [] }
      for (const { sha256, expiresMs, for: only } of tokens)
        if (only === undefined) this.#tokens.set(sha256, { ...every, endsMs: expiresMs })
      for (const { issuer, sub } of subjects) this.#subjects.set(`${issuer} ${sub}`, { principal, scopes })
    }
  }

  find(sha256: string): VerifiedToken | undefined {
    return this.#tokens.get(sha256)
  }

  get baseScope(): string {
    return this.#rules.baseScope
  }

  /** Returns the caller of a token: the person of its subject, with the scopes of groups and people. */
  callerOf(token: VerifiedToken, proof: Proof): Caller {
    const known = this.#callers.get(token)
    if (known !== undefined) return known
    const person = this.#subjects.get(token.principal)
    const granted = this.#rules.grants.filter(({ group }) => token.groups.includes(group))
    const scopes = [token, ...granted, ...(person === undefined ? [] : [person])].flatMap(each => each.scopes)
    const caller: Caller = {
      principal: person?.principal ?? token.principal,
      scopes: withImplied(scopes, this.#rules.scopeImplies),
      endsMs: token.endsMs,
      proof,
    }
    this.#callers.set(token, caller)
    return caller
  }
}
