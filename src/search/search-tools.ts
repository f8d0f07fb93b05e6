import { type JsonText, textOf } from '../kernel/json/text.js'

/** Maximum length of the server names in a description. */
const SERVERS_CHARS = 400
/** Default length of a text that a model receives at once, in characters. */
export const READ_CHARS = 24_000
/** Maximum length of a text that a model receives at once, in characters. */
export const READ_CHARS_MAX = 48_000

const LOOKS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false }

const CALL_SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Exact name from find_tools' },
    arguments: { type: 'object', description: 'Arguments of that tool', additionalProperties: true },
  },
  required: ['name'],
}

const findTools = (servers: string): object => ({
  name: 'find_tools',
  title: 'Find tools',
  description: `Search the tools of the connected servers: ${servers}. Say in a few plain words what to do, with the product if known ("github create pull request"). Returns the best matches with their arguments. Use the exact name of a result: [read] with call_read_tool, [write] with call_write_tool.`,
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', maxLength: 500, description: 'What the tool should do' },
      also: {
        type: 'array',
        items: { type: 'string', maxLength: 200 },
        maxItems: 4,
        description: 'Up to four other wordings: synonyms, technical terms',
      },
      server: { type: 'string', description: 'Only tools of this server' },
      limit: { type: 'integer', minimum: 1, maximum: 20, default: 5 },
    },
    required: ['query'],
  },
  annotations: LOOKS,
})

const OTHERS = [
  {
    name: 'describe_tools',
    title: 'Describe tools',
    description: 'Full description and input schema of up to 10 tools by name.',
    inputSchema: {
      type: 'object',
      properties: { names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 10 } },
      required: ['names'],
    },
    annotations: LOOKS,
  },
  {
    name: 'call_read_tool',
    title: 'Call a tool that only reads',
    description: 'Call a tool that find_tools marks [read]. Others are refused: use call_write_tool.',
    inputSchema: CALL_SCHEMA,
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: 'call_write_tool',
    title: 'Call a tool that may change things',
    description: 'Call any tool that find_tools marks [write].',
    inputSchema: CALL_SCHEMA,
    annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true },
  },
  {
    name: 'read_result',
    title: 'Read more of a long result',
    description: 'Read on in a result that was cut, or search in it.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        offset: { type: 'integer', minimum: 0 },
        length: { type: 'integer', minimum: 1, maximum: READ_CHARS_MAX, default: READ_CHARS },
        find: {
          type: 'string',
          maxLength: 200,
          description: 'Only lines with this text, with their neighbours',
        },
      },
      required: ['id'],
    },
    annotations: LOOKS,
  },
] as const

/** One of the proxy's own tools that replace the full list. */
export interface SearchTool {
  readonly own: string
  readonly text: JsonText
}

export type SearchToolName = 'find_tools' | (typeof OTHERS)[number]['name']

const NAMES: ReadonlySet<string> = new Set(['find_tools', ...OTHERS.map(({ name }) => name)])

/** Returns whether a name is reserved for a search tool. */
export const isSearchTool = (name: string): name is SearchToolName => NAMES.has(name)

/** Returns the tool list in search mode; `servers` are the names of the visible servers. */
export const searchTools = (servers: readonly string[]): readonly SearchTool[] => [
  { own: 'find_tools', text: textOf(findTools(inWords(servers))) },
  ...OTHERS.map(tool => ({ own: tool.name, text: textOf(tool) })),
]

/** Sorted, so that the order of answers does not matter, and cut between names. */
const inWords = (servers: readonly string[]): string => {
  const names = [...new Set(servers)].sort()
  let words = names.join(', ')
  while (words.length > SERVERS_CHARS && names.length > 0) {
    names.pop()
    words = [...names, '…'].join(', ')
  }
  return words
}
