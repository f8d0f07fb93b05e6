import type { Catalog } from '../catalog/catalog.js'
import type { ProxyConfig, ServerConfig } from '../config/types.js'
import type { Rule } from '../kernel/rule.js'
import { RuleGate, type RuleGateContext } from '../mux/rules/gate.js'
import { lockCheck } from '../mux/rules/lock-check.js'
import type { ServerOptions } from '../peers/dial.js'

interface LiveRulesContext extends Omit<RuleGateContext, 'annotationsInstead' | 'checkLock'> {
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly catalog: () => Catalog
}

/** The rules of the configuration in force. */
export class LiveRules {
  readonly #context: RuleGateContext
  #rules: readonly Rule[] = []
  #hasLock = false
  #gate: RuleGate | undefined

  constructor(
    { rules, lock }: Pick<ProxyConfig, 'rules' | 'lock'>,
    { configOf, catalog, ...context }: LiveRulesContext,
  ) {
    this.#context = {
      ...context,
      checkLock: record => lockCheck(catalog())(record),
      annotationsInstead: server => {
        const { trustAnnotations = true, tools } = configOf(server) ?? {}
        return trustAnnotations ? undefined : own => tools?.override[own]?.annotations
      },
    }
    this.reload({ rules, lock })
  }

  /** Undefined without rules and without a lock file. */
  get gate(): RuleGate | undefined {
    return this.#gate
  }

  reload({ rules = [], lock }: Pick<ProxyConfig, 'rules' | 'lock'>): void {
    const hasLock = lock !== undefined
    if (rules.length === 0 && !hasLock) this.#gate = undefined
    else if (this.#gate === undefined) this.#gate = new RuleGate(rules, this.#context, hasLock)
    else if (hasLock !== this.#hasLock || JSON.stringify(rules) !== JSON.stringify(this.#rules))
      this.#gate.reload(rules, hasLock)
    this.#rules = rules
    this.#hasLock = hasLock
  }
}
