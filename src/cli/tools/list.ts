import { withErrorLine } from '../../kernel/error-lines.js'
import { Fault } from '../../kernel/faults.js'
import { arrayText, type JsonText, memberOf, objectText, stringOf, textOf } from '../../kernel/json/text.js'
import { mask } from '../../kernel/secrets/mask.js'
import type { ServerStatus } from '../../telemetry/status/status.js'
import { numbered, print, printText } from '../shared/output/output.js'
import { stdoutLayout, type TableLayout, tableText } from '../shared/output/table.js'
import { configOption, defineVerb, EXIT, logLevelOption, NO_SERVERS } from '../shared/verb.js'
import { loginFault, loginOption } from './logins.js'
import { aloneOption, inSession, isWell, type ProxySession } from './session.js'

/** The lists of servers by `--json` name, with table titles and columns. */
const LISTS = [
  { list: 'tools', title: 'Tools', columns: ['name', 'description'] },
  { list: 'prompts', title: 'Prompts', columns: ['name', 'description'] },
  { list: 'resources', title: 'Resources', columns: ['uri', 'name'] },
  { list: 'templates', title: 'Resource templates', columns: ['uriTemplate', 'name'] },
] as const

export const list = defineVerb({
  usage: 'list',
  describe: 'List servers, tools, prompts and resources of the running proxy, or of servers started for it',
  flags: {
    config: configOption,
    json: { type: 'boolean', describe: 'One JSON document, with all items as their servers wrote them' },
    tokens: {
      type: 'boolean',
      describe: 'Show the tokens that the tools of each server use',
    },
    alone: aloneOption,
    login: loginOption,
    'log-level': logLevelOption,
  },
  examples: [
    ['mcp-proxy list', 'The tools clients see, and the servers that failed'],
    ['mcp-proxy list --config mcp.json', 'For another configuration'],
    ['mcp-proxy list --tokens', 'The servers that use most of a model’s context'],
    ['mcp-proxy list --config mcp.json --json | jq -r ".tools[].name"', 'The names of all tools'],
  ],
  async run(args) {
    const { config, alone, login, logLevel: level = 'error' } = args
    return await inSession({ verb: 'list', config, alone, login, level }, async session => {
      const found = await readAll(session)
      const servers = await session.status()
      const fault = loginFault(servers.filter(({ name }) => session.mayHelp(name)))
      if (fault !== undefined) throw fault
      return {
        code: servers.length === 0 || servers.some(isWell) ? EXIT.ok : EXIT.failure,
        show: () => {
          const isCost = args.tokens === true
          if (args.json === true) print(isCost ? costDocument(servers) : documentText(servers, found))
          else printText(isCost ? costTable(servers, stdoutLayout()) : tables(servers, found, stdoutLayout()))
        },
      }
    })
  },
})

type Found = ReadonlyMap<string, readonly JsonText[]>

// An unreadable list counts as empty: the table of servers shows the reason.
const readAll = async ({ client }: ProxySession): Promise<Found> => {
  const read = async (name: (typeof LISTS)[number]['list']): Promise<readonly JsonText[]> => {
    try {
      return await client.list(name)
    } catch (thrown) {
      if (thrown instanceof Fault) return []
      throw thrown
    }
  }
  return new Map(await Promise.all(LISTS.map(async ({ list: name }) => [name, await read(name)] as const)))
}

const stateOf = ({ state }: ServerStatus): string =>
  isWell({ state }) || state.startsWith('needs-') || state === 'auth-unreachable' ? state : 'failed'

const reasonOf = ({
  state,
  why = 'no answer in time',
  transport,
  doctor = transport === 'stdio' ? 'D031' : 'D035',
  stderr,
}: ServerStatus): string | undefined =>
  isWell({ state }) ? undefined : numbered(withErrorLine(why, stderr), doctor)

const documentText = (servers: readonly ServerStatus[], found: Found): JsonText =>
  objectText([
    ['version', textOf(1)],
    [
      'servers',
      textOf(
        servers.map(server => ({
          name: server.name,
          alias: server.alias,
          state: stateOf(server),
          revision: server.revision,
          why: reasonOf(server),
        })),
      ),
    ],
    ...[...found].map(([name, items]) => [name, arrayText(items)] as const),
  ])

// ── the cost of tools ──

interface Cost {
  readonly name: string
  readonly tools: number
  /** Estimate: bytes of names, descriptions and schemas, divided by four. */
  readonly tokens: number
}

/** Sorts by cost, highest first, and adds the sum. */
const costsOf = (
  servers: readonly ServerStatus[],
): { readonly costs: readonly Cost[]; readonly all: Cost } => {
  const costs = servers
    .map(({ name, items, tokens = 0 }) => ({ name, tools: items?.tools ?? 0, tokens }))
    .sort((one, other) => other.tokens - one.tokens)
  const sum = (key: 'tools' | 'tokens'): number => costs.reduce((total, cost) => total + cost[key], 0)
  return { costs, all: { name: 'all', tools: sum('tools'), tokens: sum('tokens') } }
}

const costDocument = (servers: readonly ServerStatus[]): JsonText => {
  const { costs, all } = costsOf(servers)
  return textOf({ version: 1, servers: costs, tools: all.tools, tokens: all.tokens })
}

const costTable = (servers: readonly ServerStatus[], layout: TableLayout): string => {
  const { costs, all } = costsOf(servers)
  const rows = [...costs, all].map(({ name, tools, tokens }) => [name, String(tools), `~${tokens}`])
  return tableText(['SERVER', 'TOOLS', 'TOKENS'], rows, layout)
}

const tables = (servers: readonly ServerStatus[], found: Found, layout: TableLayout): string => {
  const rows = servers.map(server => [
    server.name,
    stateOf(server),
    server.revision ?? '-',
    reasonOf(server) ?? '',
  ])
  const table = tableText(['NAME', 'STATE', 'REVISION', 'WHY'], rows, layout)
  const sections = [
    `Servers (${servers.length})\n${servers.length === 0 ? NO_SERVERS : table}`,
    ...LISTS.map(({ list: name, title, columns }) => section(title, found.get(name) ?? [], columns, layout)),
  ]
  return sections.filter(text => text !== undefined).join('\n\n')
}

const HEADINGS: Readonly<Record<string, string>> = { uriTemplate: 'URI TEMPLATE' }

const section = (
  title: string,
  items: readonly JsonText[],
  members: readonly string[],
  layout: TableLayout,
): string | undefined => {
  if (items.length === 0) return undefined
  const headings = members.map(member => HEADINGS[member] ?? member.toUpperCase())
  const rows = items.map(item => members.map(member => mask(stringOf(memberOf(item, member)) ?? '')))
  return `${title} (${items.length})\n${tableText(headings, rows, layout)}`
}
