import { type JsonText, memberOf } from '../kernel/json/text.js'

/** The tool limit of a client, by its `clientInfo.name`. */
export interface ToolCap {
  /** `Infinity` if it loads tools on demand. */
  readonly max: number
  /** True if it shows its model only the tools that are needed. */
  readonly loadsByNeed: boolean
  /** True if it is known to drop further tools; otherwise the limit is assumed. */
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
/** Limit of OpenAI's models. */
const OTHERS: ToolCap = { ...capOf(128), isKnown: false }

/** Returns the limit of a client whose name begins with a known one, in any case. */
export const toolCapOf = (client: string): ToolCap => {
  const name = client.toLowerCase()
  return CAPS.find(([start]) => name.startsWith(start))?.[1] ?? OTHERS
}

/** Rule of thumb for English and JSON. */
const BYTES_PER_TOKEN = 4

const READ_BY_MODELS = ['name', 'description', 'inputSchema'] as const

/** Estimates how many tokens of a model's context a tool takes. */
export const tokensOfTool = (tool: JsonText): number =>
  READ_BY_MODELS.reduce((sum, key) => sum + (memberOf(tool, key)?.length ?? 0), 0) / BYTES_PER_TOKEN
