import type { ServerConfig } from '../config/types.js'
import type { Rule } from '../kernel/rule.js'
import { RuleGate, type RuleGateContext } from '../mux/rules/gate.js'
import type { ServerOptions } from '../peers/dial.js'

interface LiveRulesContext extends Omit<RuleGateContext, 'annotationsInstead'> {
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
}

/** The rules of the configuration in force. */
export class LiveRules {
  readonly #context: RuleGateContext
  #rules: readonly Rule[] = []
  #gate: RuleGate | undefined

  constructor(rules: readonly Rule[] | undefined, { configOf, ...context }: LiveRulesContext) {
    this.#context = {
      ...context,
      annotationsInstead: server => {
        const { trustAnnotations = true, tools } = configOf(server) ?? {}
        return trustAnnotations ? undefined : own => tools?.override[own]?.annotations
      },
    }
    this.reload(rules)
  }

  /** Undefined without rules. */
  get gate(): RuleGate | undefined {
    return this.#gate
  }

  reload(rules: readonly Rule[] = []): void {
    if (rules.length === 0) this.#gate = undefined
    else if (this.#gate === undefined) this.#gate = new RuleGate(rules, this.#context)
    else if (JSON.stringify(rules) !== JSON.stringify(this.#rules)) this.#gate.reload(rules)
    this.#rules = rules
  }
}
