import { parseConfig } from '../../src/config/parse.js'
import { rawText, textOf } from '../../src/kernel/json/text.js'
import { LimitCounters } from '../../src/kernel/limit-counters.js'
import type { Rule } from '../../src/kernel/rule.js'
import { CallArguments } from '../../src/mux/rules/arguments.js'
import { RuleGate, type RuleGateContext } from '../../src/mux/rules/gate.js'
import { type Asker, decide, Policy, type RuledItem, type Ruling } from '../../src/mux/rules/policy.js'
import { FakeClock } from './fake-clock.js'

/** Reads the configuration of a file with these rules. */
export const loadRules = (rules: unknown) =>
  parseConfig(JSON.stringify({ mcpServers: { shop: { command: 'x' } }, rules }), '/etc/mcp.json', {})

/** Reads rules; throws for invalid ones. */
export const rulesOf = (rules: unknown): readonly Rule[] => {
  const { config, problems } = loadRules(rules)
  if (config === undefined) throw new Error(JSON.stringify(problems))
  return config.rules ?? []
}

const LOCAL_ASKER: Asker = {
  caller: { principal: 'local', scopes: undefined },
  client: { info: textOf({ name: 'test' }) },
}

/** Decides about a tool of `shop`. */
export const ruleTool = (
  rules: readonly Rule[],
  own: string,
  args: string,
  { asker = LOCAL_ASKER, item = {} }: { asker?: Asker; item?: Partial<RuledItem> } = {},
): Ruling =>
  decide(
    new Policy(rules).about({ kind: 'tool', server: 'shop', own, ...item }),
    asker,
    new CallArguments(rawText(`{"arguments":${args}}`)),
  )

/** Makes a gate with these rules. */
export const gateOf = (rules: unknown, context: Partial<RuleGateContext> = {}): RuleGate =>
  new RuleGate(rulesOf(rules), {
    clock: context.clock ?? new FakeClock(),
    bounds: new LimitCounters(),
    annotationsInstead: () => undefined,
    ...context,
  })
