import { z } from 'zod'
import { HINT_DEFAULTS, type Hint, RATE_PARTS } from '../../kernel/rule.js'
import { scopes } from './auth.js'
import { flag, glob, objectFix, waitTime, wholeNumber } from './values.js'

// Unknown keys are errors here: a misspelled condition would match more calls.

/** One pattern, or a list of them. */
const patterns = (example: string, about: string) =>
  oneOrMore(() => glob(example), `Write a pattern such as "${example}", or a list of up to 100.`)
    .optional()
    .describe(about)

const oneOrMore = <T extends z.ZodType>(each: () => T, error: string) =>
  z.union([each(), z.array(each(), { error }).min(1, { error }).max(100, { error })], { error })

const ANY_FIX = 'Write a text, or a list of up to 100 texts, such as ["*@example.com"].'
const anyText = () => z.string({ error: ANY_FIX }).max(1000, { error: ANY_FIX })
const LIST_FIX = 'Write a list of values, such as ["dev", "test"].'
const NUMBER_FIX = 'Write a number, such as 500.'

const tests = z.strictObject(
  {
    equals: z.unknown().optional().describe('The value is this one; numbers compare as decimals.'),
    oneOf: z
      .array(z.unknown(), { error: LIST_FIX })
      .min(1, { error: LIST_FIX })
      .max(100, { error: LIST_FIX })
      .optional()
      .describe('The value is one of these.'),
    glob: oneOrMore(anyText, ANY_FIX)
      .optional()
      .describe('The text matches a pattern: `*` stands for any characters, `?` for one; case matters.'),
    above: z.number({ error: NUMBER_FIX }).optional().describe('The number is larger.'),
    below: z.number({ error: NUMBER_FIX }).optional().describe('The number is smaller.'),
    present: flag().optional().describe('The value exists, or does not.'),
  },
  objectFix('{ "above": 500 }'),
)

const POINTER_FIX =
  'Begin the pointer with "/", such as "/amount"; write "~1" for a slash in a name, "~0" for "~".'

const hint = (name: Hint) =>
  flag().optional().describe(`The tool’s \`${name}\`; \`${HINT_DEFAULTS[name]}\` if the tool does not say.`)

const RATE_FIX = 'Write a number of calls and a period, such as "60/1m"; periods end in ms, s, m, h or d.'
const rateText = () =>
  z.string({ error: RATE_FIX }).regex(/^[1-9]\d{0,8}\/[1-9]\d{0,8}(?:ms|s|m|h|d)$/, { error: RATE_FIX })
const RATES_FIX = `${RATE_FIX} Or write an object such as { "limit": "60/1m", "burst": 10 }, or a list of up to four.`
const PER_FIX = 'Write a list of "person", "server" and "tool".'
const rateForms = () =>
  [
    rateText(),
    z.strictObject(
      {
        limit: rateText().describe('The number of calls and the period.'),
        burst: wholeNumber(1, 1_000_000_000)
          .optional()
          .describe('How many calls may come at once; as many as the limit if absent.'),
        per: z
          .array(z.enum(RATE_PARTS, { error: PER_FIX }), { error: PER_FIX })
          .max(RATE_PARTS.length, { error: PER_FIX })
          .optional()
          .describe(
            'What is counted separately; `["person"]` if absent, and `[]` counts all calls together.',
          ),
      },
      objectFix('{ "limit": "60/1m", "burst": 10 }'),
    ),
  ] as const

const ask = z.strictObject(
  {
    of: z
      .strictObject(
        {
          people: patterns('ann', 'Patterns of the names of people who may decide.'),
          scopes: scopes().min(1).optional().describe('Scopes that the person must have.'),
        },
        objectFix('{ "scopes": ["finance"] }'),
      )
      .optional()
      .describe('Another person who decides; never the caller. The caller if absent.'),
    via: z.enum(['client', 'page'], { error: 'Write "client" or "page".' }).optional().meta({
      description: 'Where the question is asked: `page` ignores forms in the client.',
      default: 'client',
    }),
    timeout: waitTime().optional().meta({
      description: 'How long the question is open, from `1s` to `1h`.',
      default: '5m',
    }),
    remember: waitTime()
      .optional()
      .describe('Also offers an answer for the rest of the session, for at most this time, up to `8h`.'),
  },
  objectFix('{ "of": { "scopes": ["finance"] }, "timeout": "1h" }'),
)

const ID_FIX = 'Use a letter and up to 31 more of a to z, 0 to 9 and "-".'
const REASON_FIX = 'Write up to 300 characters.'

const rule = z.strictObject(
  {
    id: z
      .string({ error: ID_FIX })
      .regex(/^[a-z][a-z0-9-]{0,31}$/, { error: ID_FIX })
      .optional()
      .describe('The name of the rule in messages, audit lines and metrics; `#` and its position if absent.'),
    who: z
      .strictObject(
        {
          people: patterns(
            'intern-*',
            'Patterns of names in `auth.people`, else of the principal as in the audit log.',
          ),
          scopes: scopes().min(1).optional().describe('Scopes that the caller has, all of them.'),
          clients: patterns(
            'cursor*',
            'Patterns of the name that the client sends, which it chooses itself.',
          ),
        },
        objectFix('{ "people": ["intern-*"] }'),
      )
      .optional()
      .describe('Who calls.'),
    server: patterns('shop*', 'Patterns of names in `mcpServers`.'),
    tool: patterns('deploy*', 'Patterns of tools, by the server’s own names.'),
    prompt: patterns('review*', 'Patterns of prompts, by the server’s own names.'),
    resource: patterns('file:///etc/*', 'Patterns of resources, by the server’s own URIs.'),
    annotations: z
      .strictObject(
        {
          readOnlyHint: hint('readOnlyHint'),
          destructiveHint: hint('destructiveHint'),
          idempotentHint: hint('idempotentHint'),
          openWorldHint: hint('openWorldHint'),
        },
        objectFix('{ "destructiveHint": true }'),
      )
      .optional()
      .describe('Annotations of the tool, after `tools.override`.'),
    when: z
      .record(
        z.string().regex(/^\/(?:[^~]|~[01])*$/, { error: POINTER_FIX }),
        tests,
        objectFix('{ "/amount": { "above": 500 } }'),
      )
      .optional()
      .describe(
        'JSON Pointers into the arguments, each with its tests; `*` as a step stands for every value.',
      ),
    then: z
      .enum(['allow', 'deny', 'ask'], { error: 'Write "allow", "deny" or "ask".' })
      .optional()
      .describe('What happens to the call.'),
    ask: ask.optional().describe('How a person is asked.'),
    rate: z
      .union(
        [
          ...rateForms(),
          z
            .array(z.union(rateForms(), { error: RATE_FIX }))
            .min(1)
            .max(4),
        ],
        { error: RATES_FIX },
      )
      .optional()
      .describe('Limits on the number of calls; see docs/rules.md#limit-call-rates.'),
    reason: z
      .string({ error: REASON_FIX })
      .max(300, { error: REASON_FIX })
      .optional()
      .describe('A sentence for the caller and for the person who decides.'),
  },
  objectFix('{ "tool": "deploy*", "then": "deny" }'),
)

const RULES_FIX = 'Write a list of up to 500 rules, such as [{ "tool": "deploy*", "then": "deny" }].'

/** `rules`: the rules over calls, in their order. */
export const ruleList = z.array(rule, { error: RULES_FIX }).max(500, { error: RULES_FIX })
