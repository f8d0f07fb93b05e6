import type { Argv } from 'yargs'
import type { ServerStatus } from '../../app/status.js'
import { Fault } from '../../kernel/faults.js'
import { arrayText, type JsonText, memberOf, objectText, stringOf, textOf } from '../../kernel/json/text.js'
import { readConfiguration } from '../configuration.js'
import { inProcess, type Session } from '../in-process.js'
import { print } from '../output/output.js'
import { type Look, stdoutLook, tableText } from '../output/table.js'
import { configOption, EXIT, logLevelOption, type Verb } from '../verb.js'

const flags = {
  config: configOption,
  json: { type: 'boolean', describe: 'One JSON document; items stand in it as their servers wrote them' },
  'log-level': logLevelOption,
} as const

const options = (cli: Argv) =>
  cli
    .options(flags)
    .example('mcp-proxy list --config mcp.json', 'What clients of this configuration see')
    .example('mcp-proxy list --config mcp.json --json | jq -r ".tools[].name"', 'The names of all tools')

type Flags = ReturnType<typeof options> extends Argv<infer T> ? T : never

/** Shows what all servers of a configuration offer, under the names that clients see. */
export const list: Verb<Flags> = {
  usage: 'list',
  describe: 'List servers, tools, prompts and resources; starts the servers and ends them',
  flags,
  options,
  async run(args) {
    const config = await readConfiguration(args.config)
    return await inProcess(config, { level: args.logLevel ?? 'error' }, async session => {
      const found = await readAll(session)
      const servers = session.status()
      return {
        code: servers.some(({ state }) => state === 'ready') ? EXIT.ok : EXIT.failure,
        show: () =>
          print(args.json === true ? documentText(servers, found) : tables(servers, found, stdoutLook())),
      }
    })
  },
}

interface Found {
  readonly tools: readonly JsonText[]
  readonly prompts: readonly JsonText[]
  readonly resources: readonly JsonText[]
  readonly templates: readonly JsonText[]
}

// A list that cannot be read is an empty one here: the table of servers says why.
const readAll = async ({ client }: Session): Promise<Found> => {
  const read = async (list: Parameters<typeof client.list>[0]): Promise<JsonText[]> => {
    try {
      return await client.list(list)
    } catch (thrown) {
      if (thrown instanceof Fault) return []
      throw thrown
    }
  }
  const [tools, prompts, resources, templates] = await Promise.all([
    read('tools'),
    read('prompts'),
    read('resources'),
    read('templates'),
  ])
  return { tools, prompts, resources, templates }
}

const stateOf = ({ state }: ServerStatus): string => (state === 'ready' ? 'ready' : 'failed')

const reasonOf = ({ state, why }: ServerStatus): string | undefined =>
  state === 'ready' ? undefined : (why ?? 'no answer in time')

const documentText = (servers: readonly ServerStatus[], found: Found): JsonText =>
  objectText([
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
    ['tools', arrayText(found.tools)],
    ['prompts', arrayText(found.prompts)],
    ['resources', arrayText(found.resources)],
    ['templates', arrayText(found.templates)],
  ])

const tables = (servers: readonly ServerStatus[], found: Found, look: Look): string => {
  const rows = servers.map(server => [
    server.name,
    stateOf(server),
    server.revision ?? '-',
    reasonOf(server) ?? '',
  ])
  const sections = [
    `Servers (${servers.length})\n${tableText(['NAME', 'STATE', 'REVISION', 'WHY'], rows, look)}`,
    section('Tools', found.tools, ['name', 'description'], look),
    section('Prompts', found.prompts, ['name', 'description'], look),
    section('Resources', found.resources, ['uri', 'name'], look),
    section('Resource templates', found.templates, ['uriTemplate', 'name'], look),
  ]
  return sections.filter(text => text !== undefined).join('\n\n')
}

const HEADINGS: Readonly<Record<string, string>> = { uriTemplate: 'URI TEMPLATE' }

const section = (
  title: string,
  items: readonly JsonText[],
  members: readonly string[],
  look: Look,
): string | undefined => {
  if (items.length === 0) return undefined
  const headings = members.map(member => HEADINGS[member] ?? member.toUpperCase())
  const rows = items.map(item => members.map(member => stringOf(memberOf(item, member)) ?? ''))
  return `${title} (${items.length})\n${tableText(headings, rows, look)}`
}
