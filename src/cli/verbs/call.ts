import type { Argv } from 'yargs'
import { suggest } from '../../config/schema/suggest.js'
import type { ProxyConfig, ServerConfig } from '../../config/types.js'
import { elementsOf, type JsonText, memberOf, objectText, stringOf, textOf } from '../../kernel/json/text.js'
import { plainText } from '../../kernel/plain-text.js'
import { readConfiguration } from '../configuration.js'
import { inProcess, type Session } from '../in-process.js'
import { oneLine, print, say } from '../output/output.js'
import { toolArguments } from '../tool-arguments.js'
import { CliError, configOption, EXIT, logLevelOption, textOption, type Verb } from '../verb.js'

const flags = {
  config: configOption,
  args: textOption('Arguments as a JSON object; key=value wins over its members'),
  json: { type: 'boolean', describe: 'The whole result as the server wrote it' },
  'log-level': logLevelOption,
} as const

const options = (cli: Argv) =>
  cli
    .positional('tool', { type: 'string', demandOption: true, describe: 'The name that clients see' })
    .positional('pairs', {
      type: 'string',
      array: true,
      default: [] as string[],
      describe: 'Arguments as key=value; what the input schema does not call a string is read as JSON',
    })
    .options(flags)
    .example('mcp-proxy call github__search_issues query=bug limit=5 --config mcp.json', 'Calls one tool')
    .example('mcp-proxy call files__read_file --args \'{"path":"README.md"}\' --json', 'Arguments as JSON')

type Flags = ReturnType<typeof options> extends Argv<infer T> ? T : never

/** Calls one tool of a configuration and prints what it says. */
export const call: Verb<Flags> = {
  usage: 'call <tool> [pairs..]',
  describe: 'Call a tool and print what it says; starts only the servers that could have it',
  flags,
  options,
  async run(args) {
    const { couldOwn } = await import('../../app/server-registry.js')
    const config = await readConfiguration(args.config)
    const servers = couldOwn(config.servers, args.tool)
    // When nobody could have it, all are asked, for the name that was meant.
    const asked: ProxyConfig = servers.length === 0 ? config : { ...config, servers }
    const onProgress = process.stderr.isTTY ? (params: JsonText) => say(progressLine(params)) : undefined
    return await inProcess(asked, { level: args.logLevel ?? 'error', onProgress }, async session => {
      const tool = await findTool(session, args.tool, servers)
      const values = toolArguments(args.pairs, args.args, memberOf(tool, 'inputSchema'))
      const result = await callTool(session, args.tool, values)
      return {
        code: isError(result) ? EXIT.negative : EXIT.ok,
        show: () => (args.json === true ? print(result) : showResult(result)),
      }
    })
  },
}

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
  if (failed.length > 0) {
    const reasons = failed.map(server => `${server.name}: ${server.why ?? 'no answer in time'}`).join('; ')
    throw new CliError(EXIT.failure, `no server that could be reached has a tool ${name} (${reasons})`)
  }
  const meant = suggest(name, tools.map(nameOf))
  throw new CliError(
    EXIT.usage,
    `there is no tool ${name}${meant === undefined ? '; mcp-proxy list shows all' : `; did you mean ${meant}?`}`,
  )
}

const callTool = async ({ client }: Session, name: string, values: JsonText): Promise<JsonText> => {
  const { resultOf } = await import('../../app/local-client.js')
  const params = objectText([
    ['name', textOf(name)],
    ['arguments', values],
  ])
  return resultOf(await client.request('tools/call', params))
}

/** Whether a tool said that it failed. */
export const isError = (result: JsonText): boolean =>
  memberOf(result, 'isError')?.toString('latin1') === 'true'

/**
 * Shows the result of a tool: its texts on stdout, or its structure if it has none; what is no text as a line of
 * description on stderr.
 */
export const showResult = (result: JsonText): void => {
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
    // A file gets the bytes as they are; a terminal must not be steered by a server.
    print((process.stdout.isTTY ? plainText(text) : text).replace(/\n$/, ''))
  }
  const structure = memberOf(result, 'structuredContent')
  if (texts === 0 && structure !== undefined) print(structure)
}

const description = (block: JsonText): string => {
  const type = stringOf(memberOf(block, 'type')) ?? 'something without a type'
  const inner = memberOf(block, 'resource') ?? block
  const facts = ['name', 'uri', 'mimeType'].flatMap(key => stringOf(memberOf(inner, key)) ?? [])
  const data = memberOf(inner, 'data') ?? memberOf(inner, 'blob')
  if (data !== undefined) facts.push(`${Math.floor(((data.length - 2) * 3) / 4)} bytes`)
  return `${[type, ...facts].join(' ')}; --json shows it whole`
}

/** A progress notification as one line. */
export const progressLine = (params: JsonText): string => {
  const [progress, total] = ['progress', 'total'].map(key => memberOf(params, key)?.toString('utf8'))
  const message = stringOf(memberOf(params, 'message')) ?? ''
  return oneLine(`[${progress ?? '?'}${total === undefined ? '' : `/${total}`}] ${message}`)
}
