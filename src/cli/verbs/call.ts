import { suggest } from '../../config/schema/suggest.js'
import type { ProxyConfig, ServerConfig } from '../../config/types.js'
import {
  elementsOf,
  type JsonText,
  memberOf,
  membersOf,
  objectText,
  stringOf,
  textOf,
} from '../../kernel/json/text.js'
import { plainText } from '../../secrets/plain-text.js'
import { readConfiguration } from '../configuration.js'
import { inProcess, type Session } from '../in-process.js'
import { loginFault, loginOption, withLogins } from '../logins.js'
import { count, oneLine, print, say } from '../output/output.js'
import { toolArguments } from '../tool-arguments.js'
import { CliError, configOption, defineVerb, EXIT, logLevelOption, textOption } from '../verb.js'

export const call = defineVerb({
  usage: 'call <tool> [pairs..]',
  describe: 'Call a tool and print its result; starts only the servers that could have it',
  needs: 'the name of a tool',
  flags: {
    config: configOption,
    args: textOption('Arguments as a JSON object; key=value wins over its members'),
    json: { type: 'boolean', describe: 'The whole result, as one JSON document' },
    login: loginOption,
    'log-level': logLevelOption,
  },
  positionals: {
    tool: { type: 'string', demandOption: true, describe: 'The name that clients see' },
    pairs: {
      type: 'string',
      array: true,
      default: [] as string[],
      describe: 'Arguments as key=value; read as JSON unless the input schema says that it is a string',
    },
  },
  examples: [
    ['mcp-proxy call github__search_issues query=bug limit=5 --config mcp.json', 'Calls one tool'],
    ['mcp-proxy call memory__read_graph', 'A tool without arguments'],
    ['mcp-proxy call files__read_file --args \'{"path":"README.md"}\' --json', 'Arguments as JSON'],
  ],
  async run(args) {
    const { couldOwn } = await import('../../app/server-registry.js')
    const config = await readConfiguration(args.config)
    const servers = couldOwn(config.servers, args.tool)
    // If none could have it, all are asked, to suggest the name that was meant.
    const asked: ProxyConfig = servers.length === 0 ? config : { ...config, servers }
    const onProgress = process.stderr.isTTY ? (params: JsonText) => say(progressLine(params)) : undefined
    const work = async (session: Session) => {
      const tool = await findTool(session, args.tool, servers)
      const values = toolArguments(args.pairs, args.args, memberOf(tool, 'inputSchema'))
      const result = await callTool(session, args.tool, values)
      return {
        code: isError(result) ? EXIT.negative : EXIT.ok,
        show: () => (args.json === true ? print(documentOf(result)) : showResult(result)),
      }
    }
    const options = { level: args.logLevel ?? 'error', onProgress }
    return await withLogins(config, args.login, () => inProcess(asked, options, work))
  },
})

const nameOf = (tool: JsonText): string => stringOf(memberOf(tool, 'name')) ?? ''

const findTool = async (
  { client, status }: Session,
  name: string,
  candidates: readonly ServerConfig[],
): Promise<JsonText> => {
  const tools = await client.list('tools')
  const found = tools.find(tool => nameOf(tool) === name)
  if (found !== undefined) return found
  const failed = status().filter(
    server => server.state !== 'ready' && candidates.some(candidate => candidate.name === server.name),
  )
  const fault = loginFault(failed)
  if (fault !== undefined) throw fault
  if (failed.length > 0) {
    const reasons = failed.map(server => `${server.name}: ${server.why ?? 'no answer in time'}`).join('; ')
    throw new CliError(EXIT.failure, `none of the reachable servers has a tool ${name}`, { why: reasons })
  }
  const meant = suggest(name, tools.map(nameOf))
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  throw new CliError(EXIT.usage, `there is no tool ${name}${hint}`, {
    why: `the servers have ${count(tools.length, 'tool')}, and none of this name`,
    mend: meant === undefined ? 'mcp-proxy list' : `mcp-proxy call ${meant}`,
  })
}

const callTool = async ({ client }: Session, name: string, values: JsonText): Promise<JsonText> => {
  const { resultOf } = await import('../../app/local-client.js')
  const params = objectText([
    ['name', textOf(name)],
    ['arguments', values],
  ])
  return resultOf(await client.request('tools/call', params))
}

/** The result as the server wrote it, behind the version of this form. */
const documentOf = (result: JsonText): JsonText => {
  const members = [...membersOf(result)].filter(({ key }) => key !== 'version')
  return objectText([['version', textOf(1)], ...members.map(({ key, value }) => [key, value] as const)])
}

const isError = (result: JsonText): boolean => memberOf(result, 'isError')?.toString('latin1') === 'true'

/**
 * Prints the texts of a result, or its structured content if it has none; describes other content on stderr.
 */
const showResult = (result: JsonText): void => {
  const content = memberOf(result, 'content')
  const blocks = content === undefined ? [] : elementsOf(content)
  let texts = 0
  for (const block of blocks) {
    const text = stringOf(memberOf(block, 'type')) === 'text' ? stringOf(memberOf(block, 'text')) : undefined
    if (text === undefined) {
      say(`[${oneLine(description(block))}]`)
      continue
    }
    texts += 1
    // A file gets the bytes as they are, but a server must not control a terminal.
    print((process.stdout.isTTY ? plainText(text) : text).replace(/\n$/, ''))
  }
  const structure = memberOf(result, 'structuredContent')
  if (texts === 0 && structure !== undefined) print(structure)
}

const description = (block: JsonText): string => {
  const type = stringOf(memberOf(block, 'type')) ?? 'content without a type'
  const inner = memberOf(block, 'resource') ?? block
  const facts = ['name', 'uri', 'mimeType'].flatMap(key => stringOf(memberOf(inner, key)) ?? [])
  const data = memberOf(inner, 'data') ?? memberOf(inner, 'blob')
  if (data !== undefined) facts.push(`${Math.floor(((data.length - 2) * 3) / 4)} bytes`)
  return `${[type, ...facts].join(' ')}; --json shows it whole`
}

const progressLine = (params: JsonText): string => {
  const [progress, total] = ['progress', 'total'].map(key => memberOf(params, key)?.toString('utf8'))
  const message = stringOf(memberOf(params, 'message')) ?? ''
  return oneLine(`[${progress ?? '?'}${total === undefined ? '' : `/${total}`}] ${message}`)
}
