import type { RuleTest } from '../../control/api/rules.js'
import { visibleText } from '../../kernel/secrets/plain-text.js'
import { print, printText } from '../shared/output/output.js'
import {
  CliError,
  configOption,
  defineVerb,
  EXIT,
  jsonOption,
  textOption,
  textsOption,
} from '../shared/verb.js'

export const test = defineVerb({
  usage: 'test <name>',
  describe: 'Show what the rules decide about a call, without making it; code 1 if --expect differs',
  needs: 'the name of a tool',
  flags: {
    config: configOption,
    args: textOption('The arguments, as a JSON object'),
    as: textOption('The caller: a person of auth.people, or a principal as in the audit log'),
    scope: textsOption('A scope of the caller; else those of the person'),
    client: textOption('The name of the client'),
    expect: {
      choices: ['allow', 'ask', 'deny'] as const,
      requiresArg: true,
      describe: 'The expected decision',
    },
    json: jsonOption,
  },
  positionals: {
    name: { type: 'string', demandOption: true, describe: 'A tool, prompt or resource, or SERVER/NAME' },
  },
  examples: [
    ['mcp-proxy rules test shop__refund', 'The decision about a call without arguments'],
    [`mcp-proxy rules test shop/refund --args '{"amount":900}'`, 'By the server’s own name'],
    ['mcp-proxy rules test ci/deploy --as intern-bob --expect deny', 'In CI'],
  ],
  async run({ config, name, args, as, scope = [], client, expect, json = false }) {
    const { answerAtRest } = await import('../status/at-rest.js')
    const query = new URLSearchParams({
      name,
      ...(args && { args }),
      ...(as && { as }),
      ...(client && { client }),
    })
    for (const each of scope) query.append('scope', each)
    const found = (await answerAtRest(config, '/rules', query)) as RuleTest | { readonly error: string }
    if ('error' in found) throw new CliError(EXIT.usage, found.error)
    if (json) print(JSON.stringify(found, null, 2))
    else printText(shown(name, found).map(visibleText).join('\n'))
    return expect === undefined || expect === found.decision ? EXIT.ok : EXIT.negative
  },
})

const shown = (
  name: string,
  { decision, rule, line, hidden, tests, passed, rates }: RuleTest,
): readonly string[] => [
  `${name}: ${decision ?? ''}, by ${rule}${line === null ? '' : ` (line ${line})`}${hidden ? ', not listed' : ''}`,
  ...tests.map(({ pointer, test: words }) => `  ${pointer} ${words}`),
  ...rates.map(({ rule: by, limit }) => `  counted by ${by}: ${limit}`),
  ...passed.map(({ rule: other, because }) => `  not by ${other}: ${because}`),
]
