import { escapeForeign, escapeUnits } from '../../kernel/hidden-text.js'
import { canonicalJson } from '../../kernel/json/canonical.js'
import { elementsOf, type JsonText, kindOf, membersOf, rawText, stringOf } from '../../kernel/json/text.js'
import { type Rule, ruleName } from '../../kernel/rule.js'
import { maskSecrets } from '../../kernel/secrets/mask.js'

/** Writes a name or URI as JSON in ASCII, whole: its end may be what matters. */
const shownName = (name: string): string =>
  escapeForeign(JSON.stringify(maskSecrets(name))).replace(/[^ -~]/g, escapeUnits)

const LIST_MAX = 20
const MEMBERS_MAX = 50
const LEVELS_MAX = 6
/** Strings are cut at the first length, and at the second if the text is too long then. */
const STRING_CHARS = [200, 40] as const
const FORM_CHARS = 4000

/** Arguments as a person reads them: canonical, on one line, with long values cut. */
class ShownValue {
  isCut = false
  readonly #stringChars: number

  constructor(stringChars: number) {
    this.#stringChars = stringChars
  }

  of(value: JsonText, level = 0): string {
    switch (kindOf(value)) {
      case 'object':
        return this.#object(value, level)
      case 'array':
        return this.#array(value, level)
      case 'string':
        return this.#string(stringOf(value) ?? '')
      case 'number':
      case 'boolean':
      case 'null':
        // A number can be long too.
        return this.#cut(canonicalJson(value), text => text)
    }
  }

  #object(value: JsonText, level: number): string {
    const members = [...membersOf(value)].sort((one, two) => (one.key < two.key ? -1 : 1))
    const shown = members
      .slice(0, level < LEVELS_MAX ? MEMBERS_MAX : 0)
      .map(({ key, value: each }) => `${this.#string(key)}:${this.of(each, level + 1)}`)
    return `{${this.#withRest(shown, members.length, 'members', '}')}`
  }

  #array(value: JsonText, level: number): string {
    const elements = [...elementsOf(value)]
    const shown = elements.slice(0, level < LEVELS_MAX ? LIST_MAX : 0).map(each => this.of(each, level + 1))
    return `[${this.#withRest(shown, elements.length, 'elements', ']')}`
  }

  #withRest(shown: readonly string[], count: number, what: string, end: string): string {
    const left = count - shown.length
    return left === 0
      ? `${shown.join(',')}${end}`
      : `${[...shown, '…'].join(',')}${end}${this.#rest(left, what)}`
  }

  #string(text: string): string {
    return this.#cut(maskSecrets(text), kept => escapeForeign(JSON.stringify(kept)))
  }

  #cut(text: string, write: (kept: string) => string): string {
    const characters = Array.from(text)
    const left = characters.length - this.#stringChars
    if (left <= 0) return write(text)
    return write(`${characters.slice(0, this.#stringChars).join('')}…`) + this.#rest(left, 'characters')
  }

  #rest(count: number, what: string): string {
    this.isCut = true
    return `+${count.toLocaleString('en-US')} ${what}`
  }
}

export interface ApprovalQuestion {
  readonly method: string
  readonly server: string
  readonly name: string
  readonly arguments: JsonText | undefined
  readonly rule: Rule
  /** The names of the members that differ from the lock file. */
  readonly changed: readonly string[]
  readonly endsAtMs: number
  /** The page with all arguments; undefined without one. */
  readonly url: string | undefined
}

const LABELS: Readonly<Record<string, string>> = { 'prompts/get': 'prompt', 'resources/read': 'resource' }

/** Returns the lines about a call that its client or server wrote. */
export const boxLines = (
  question: Omit<ApprovalQuestion, 'arguments'>,
  args: string | undefined,
): string[] => [
  `server: ${shownName(question.server)}`,
  `${LABELS[question.method] ?? 'tool'}: ${shownName(question.name)}`,
  ...(args === undefined ? [] : [`arguments: ${args}`]),
]

/** Returns the lines about a call that the configuration and the proxy wrote. */
export const ownLines = ({ rule, changed, endsAtMs }: ApprovalQuestion): string[] => {
  const name = ruleName(rule)
  const why = rule.reason === undefined ? '' : `: ${rule.reason.replace(/\s+/g, ' ')}`
  const fields = changed.map(field => (/^\w+$/.test(field) ? field : shownName(field)))
  const until = new Date(endsAtMs).toISOString().slice(11, 19)
  return [
    ...(fields.length === 0 ? [] : [`Changed since it was locked: ${fields.join(', ')}`]),
    `${name[0]?.toUpperCase()}${name.slice(1)}${why}`,
    `Valid for this call only, until ${until} UTC.`,
  ]
}

const QUESTION = 'Allow this call? The text in the box was not written by mcp-proxy.'

const NO_ARGUMENTS = rawText('{}')

/** Returns the text of a form about a call; undefined if the call does not fit into one. */
export const questionText = (question: ApprovalQuestion): string | undefined => {
  for (const chars of STRING_CHARS) {
    const value = new ShownValue(chars)
    const args =
      question.method === 'resources/read' ? undefined : value.of(question.arguments ?? NO_ARGUMENTS)
    const isLinked = value.isCut && question.url !== undefined
    const text = [
      ...[QUESTION, '```', ...boxLines(question, args), '```'],
      ...(isLinked ? [`Truncated. See the full call at ${question.url}`] : []),
      ...ownLines(question),
    ].join('\n')
    if (text.length <= FORM_CHARS) return text
  }
  return undefined
}

/** The form about a call; `isForSession` offers an answer for the rest of the session. */
export const questionForm = (isForSession: boolean) => ({
  type: 'object',
  properties: {
    decision: {
      type: 'string',
      title: 'Decision',
      oneOf: [
        { const: 'no', title: 'Do not allow' },
        { const: 'once', title: 'Allow this one call' },
        ...(isForSession ? [{ const: 'session', title: 'Allow for this session' }] : []),
      ],
    },
  },
  required: ['decision'],
})

/** Asks to open the page; without text of anyone else. The name is one of the configuration. */
export const pageQuestion = (server: string): string => `Allow or refuse a call of ${server}: open the page`
