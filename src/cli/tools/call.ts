import { suggest } from '../../config/schema/suggest.js'
import { cause } from '../../diagnostics/explain.js'
import {
  elementsOf,
  type JsonText,
  memberOf,
  membersOf,
  objectText,
  stringOf,
  textOf,
} from '../../kernel/json/text.js'
import { plainText } from '../../kernel/secrets/plain-text.js'
import { count, oneLineText, print, printToStderr } from '../shared/output/output.js'
import {
  CliError,
  causeError,
  configOption,
  defineVerb,
  EXIT,
  logLevelOption,
  textOption,
} from '../shared/verb.js'
import { loginFault, loginOption } from './logins.js'
import { aloneOption, type CliSessionOptions, inSession, isWell, type ProxySession } from './session.js'
import { toolArguments } from './tool-arguments.js'

export const call = defineVerb({
  usage: 'call <tool> [pairs..]',
  describe: 'Call a tool of the running proxy, or of servers started for it, and print the result',
  needs: 'the name of a tool',
  flags: {
    config: configOption,
    args: textOption('Arguments as a JSON object; key=value overrides its members'),
    json: { type: 'boolean', describe: 'The whole result, as one JSON document' },
    alone: aloneOption,
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
    const onProgress = process.stderr.isTTY
      ? (params: JsonText) => printToStderr(progressLine(params))
      : undefined
    const work = async (session: ProxySession) => {
      const candidates = couldOwn(session.servers, args.tool).map(({ name }) => name)
      const tools = await session.client.list('tools')
      const tool = tools.find(each => nameOf(each) === args.tool)
      if (tool === undefined) await checkServers(session, args.tool, candidates)
      const values = toolArguments(args.pairs, args.args, tool && memberOf(tool, 'inputSchema'))
      const answer = await callTool(session, args.tool, values)
      // Rules hide tools that they refuse, with a reason.
      if (tool === undefined && answer.kind !== 'result') throw noTool(args.tool, tools)
      const { resultOf } = await import('../../control/local-client.js')
      const result = resultOf(answer)
      return {
        code: isError(result) ? EXIT.negative : EXIT.ok,
        show: () => (args.json === true ? print(documentOf(result)) : showResult(result)),
      }
    }
    const { config, alone, login, logLevel: level = 'error' } = args
    // If no server can own the tool, all are started to suggest a similar name.
    const choose: CliSessionOptions['choose'] = servers => couldOwn(servers, args.tool)
    return await inSession({ verb: 'call', config, alone, login, level, onProgress, choose }, work)
  },
})

const nameOf = (tool: JsonText): string => stringOf(memberOf(tool, 'name')) ?? ''

/** Rejects with the reasons of servers that may have a tool, but could not list it. */
const checkServers = async (
  { status }: ProxySession,
  name: string,
  candidates: readonly string[],
): Promise<void> => {
  const failed = (await status()).filter(server => !isWell(server) && candidates.includes(server.name))
  const fault = loginFault(failed)
  if (fault !== undefined) throw fault
  if (failed.length === 0) return
  const reasons = failed.map(server => `${server.name}: ${server.why ?? 'no answer in time'}`).join('; ')
  throw new CliError(EXIT.failure, `none of the reachable servers has a tool ${name}`, { why: reasons })
}

const noTool = (name: string, tools: readonly JsonText[]): CliError => {
  const meant = suggest(name, tools.map(nameOf))
  const facts = { tool: name, tools: count(tools.length, 'tool') }
  const found =
    meant === undefined ? cause('cli.no-tool', facts) : cause('cli.no-tool-near', { ...facts, near: meant })
  return causeError(EXIT.usage, found)
}

const callTool = ({ client }: ProxySession, name: string, values: JsonText) => {
  const params = objectText([
    ['name', textOf(name)],
    ['arguments', values],
  ])
  return client.request('tools/call', params)
}

/** Returns the result as the server wrote it, preceded by the form's version. */
const documentOf = (result: JsonText): JsonText => {
  const members = [...membersOf(result)].filter(({ key }) => key !== 'version')
  return objectText([['version', textOf(1)], ...members.map(({ key, value }) => [key, value] as const)])
}

const isError = (result: JsonText): boolean => memberOf(result, 'isError')?.toString('latin1') === 'true'

/** Prints a result's texts, or its structured content without texts; describes other content on stderr. */
const showResult = (result: JsonText): void => {
  const content = memberOf(result, 'content')
  const blocks = content === undefined ? [] : elementsOf(content)
  let texts = 0
  for (const block of blocks) {
    const text = stringOf(memberOf(block, 'type')) === 'text' ? stringOf(memberOf(block, 'text')) : undefined
    if (text === undefined) {
      printToStderr(`[${oneLineText(description(block))}]`)
      continue
    }
    texts += 1
    // A file gets the exact bytes, but a server must not control a terminal.
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
  return `${[type, ...facts].join(' ')}; --json shows all of it`
}

const progressLine = (params: JsonText): string => {
  const [progress, total] = ['progress', 'total'].map(key => memberOf(params, key)?.toString('utf8'))
  const message = stringOf(memberOf(params, 'message')) ?? ''
  return oneLineText(`[${progress ?? '?'}${total === undefined ? '' : `/${total}`}] ${message}`)
}
