/** What a rule decides about a call. */
export type Verdict = 'allow' | 'deny' | 'ask'

/** The annotations that rules can name, with the defaults of the specification (`ToolAnnotations`). */
export const HINT_DEFAULTS = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const

export type Hint = keyof typeof HINT_DEFAULTS

/** The tests of one value; all must hold. Values are JSON texts, so that numbers stay exact. */
export interface WhenTests {
  readonly equals?: string | undefined
  readonly oneOf?: readonly string[] | undefined
  readonly glob?: readonly string[] | undefined
  readonly above?: string | undefined
  readonly below?: string | undefined
  readonly present?: boolean | undefined
}

/** The parts that the key of a bucket may have. */
export const RATE_PARTS = ['person', 'server', 'tool'] as const

/** A limit on the number of calls. */
export interface Rate {
  /** As written, such as `60/1m`. */
  readonly limit: string
  readonly calls: number
  readonly periodMs: number
  /** The number of calls that may come at once. */
  readonly burst: number
  readonly per: readonly (typeof RATE_PARTS)[number][]
}

/** How a rule with `"then": "ask"` asks. */
export interface AskRule {
  /** Another person who decides; undefined for the caller. */
  readonly of:
    | {
        readonly people?: readonly string[] | undefined
        readonly scopes?: readonly string[] | undefined
      }
    | undefined
  readonly via: 'client' | 'page'
  /** As written, such as `5m`. */
  readonly timeout: string
  readonly timeoutMs: number
  /** For how long an answer may cover a session; undefined for one call only. */
  readonly rememberMs: number | undefined
}

/** A rule over calls. Absent conditions match everything; lists of globs need one match. */
export interface Rule {
  /** Its own, else `#` and its position from 1. */
  readonly id: string
  readonly who: {
    readonly people?: readonly string[] | undefined
    readonly scopes?: readonly string[] | undefined
    readonly clients?: readonly string[] | undefined
  }
  readonly server: readonly string[] | undefined
  readonly tool: readonly string[] | undefined
  readonly prompt: readonly string[] | undefined
  readonly resource: readonly string[] | undefined
  readonly annotations: Readonly<Partial<Record<Hint, boolean | undefined>>> | undefined
  /** JSON Pointers into the arguments, with their tests. */
  readonly when: readonly (readonly [pointer: string, tests: WhenTests])[]
  /** Undefined for a rule that only counts. */
  readonly then: Verdict | undefined
  /** Defined if `then` is `ask`. */
  readonly ask: AskRule | undefined
  readonly rates: readonly Rate[]
  readonly reason: string | undefined
}

/** Names a rule in a message: `rule "refunds"`, or `rule 2` without an id of its own. */
export const ruleName = ({ id }: Pick<Rule, 'id'>): string =>
  id.startsWith('#') ? `rule ${id.slice(1)}` : `rule "${id}"`
