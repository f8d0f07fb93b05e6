import { APPROVAL_PATH } from '../auth/pages/sign-in-links.js'
import type { ProxyConfig, ServerConfig } from '../config/types.js'
import type { Rule } from '../kernel/rule.js'
import { sanitizeLine } from '../kernel/secrets/mask.js'
import type { Router } from '../mux/router.js'
import type { ApprovalEvent } from '../mux/rules/approval-records.js'
import { RuleGate, type RuleGateContext } from '../mux/rules/gate.js'
import { lockCheck } from '../mux/rules/lock-check.js'
import type { ServerOptions } from '../peers/dial.js'

interface LiveRulesContext extends Omit<RuleGateContext, 'annotationsInstead' | 'checkLock' | 'approvals'> {
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly router: () => Pick<Router, 'catalog' | 'states'>
  /** True if the private socket is open, for `mcp-proxy approve`. */
  readonly hasCommands: boolean
  /** Returns the origin of the pages; undefined without HTTP. */
  readonly pageOrigin: () => string | undefined
  /** Writes an audit line about an approval. */
  readonly audit: (facts: Readonly<Record<string, unknown>>) => void
}

/** The rules of the configuration in force. */
export class LiveRules {
  readonly #context: RuleGateContext
  #rules: readonly Rule[] = []
  #hasLock = false
  #gate: RuleGate | undefined

  constructor(
    { rules, lock }: Pick<ProxyConfig, 'rules' | 'lock'>,
    { configOf, router, hasCommands, pageOrigin, audit, ...context }: LiveRulesContext,
  ) {
    this.#context = {
      ...context,
      checkLock: record => lockCheck(router().catalog)(record),
      approvals: {
        router,
        pageUrl: id => {
          const origin = pageOrigin()
          return origin && `${origin}${APPROVAL_PATH}/${id}`
        },
        hasCommands: () => hasCommands,
        onEvent: event => audit(factsOf(event)),
      },
      annotationsInstead: server => {
        const { trustAnnotations = true, tools } = configOf(server) ?? {}
        return trustAnnotations ? undefined : own => tools?.override[own]?.annotations
      },
    }
    this.reload({ rules, lock })
  }

  /** Undefined without rules and without a lock file, once no call waits for a decision. */
  get gate(): RuleGate | undefined {
    const isIdle =
      this.#rules.length === 0 && !this.#hasLock && this.#gate?.approvals?.records.isIdle !== false
    return isIdle ? undefined : this.#gate
  }

  reload({ rules = [], lock }: Pick<ProxyConfig, 'rules' | 'lock'>): void {
    const hasLock = lock !== undefined
    const isSame = hasLock === this.#hasLock && JSON.stringify(rules) === JSON.stringify(this.#rules)
    if (this.#gate !== undefined) {
      // Calls that wait for a person are decided again, also if no rule is left.
      if (!isSame) this.#gate.reload(rules, hasLock)
    } else if (rules.length > 0 || hasLock) this.#gate = new RuleGate(rules, this.#context, hasLock)
    this.#rules = rules
    this.#hasLock = hasLock
  }
}

const NAME_BYTES = 512

const factsOf = ({ event, approval: { id, subject }, decider }: ApprovalEvent) => ({
  ...{ event, id, ...decider },
  ...{ principal: subject.principal, server: subject.server, name: sanitizeLine(subject.name, NAME_BYTES) },
  ...{ rule: subject.rule.id, digest: subject.digest },
})
