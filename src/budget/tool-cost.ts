import { type JsonText, memberOf } from '../kernel/json/text.js'

/** How many tools a client can do with, by what it calls itself. */
export interface ToolCap {
  /** `Infinity` where it loads tools by need. */
  readonly max: number
  /** Whether it shows its model only those tools that are needed. */
  readonly loadsByNeed: boolean
  /** Whether it is known to leave out what is more; of others it is supposed. */
  readonly isKnown: boolean
}

const BY_NEED: ToolCap = { max: Number.POSITIVE_INFINITY, loadsByNeed: true, isKnown: true }
const capOf = (max: number): ToolCap => ({ max, loadsByNeed: false, isKnown: true })

const CAPS: readonly (readonly [start: string, cap: ToolCap])[] = [
  ['claude-code', BY_NEED],
  ['copilot-cli', BY_NEED],
  ['cursor', capOf(40)],
  ['windsurf', capOf(100)],
  ['vscode', capOf(128)],
  ['visual studio code', capOf(128)],
]
/** What OpenAI's models take. */
const OTHERS: ToolCap = { ...capOf(128), isKnown: false }

/** The cap of clients whose name, in any case, begins so. */
export const toolCapOf = (client: string): ToolCap => {
  const name = client.toLowerCase()
  return CAPS.find(([start]) => name.startsWith(start))?.[1] ?? OTHERS
}

/** Bytes that make one token, by the rule of thumb for English and JSON. */
const BYTES_PER_TOKEN = 4

const READ_BY_MODELS = ['name', 'description', 'inputSchema'] as const

/** About how many tokens of a model's context a tool takes. */
export const tokensOfTool = (tool: JsonText): number =>
  READ_BY_MODELS.reduce((sum, key) => sum + (memberOf(tool, key)?.length ?? 0), 0) / BYTES_PER_TOKEN
