import { resolve } from 'node:path'
import type { InstanceRecord } from '../../app/state/instance.js'
import type { ProxyStatus, ServerStatus } from '../../app/status.js'
import { isSamePath } from '../../config/file/watch.js'
import { count, print } from '../output/output.js'
import { stdoutLook, tableText } from '../output/table.js'
import { CliError, configOption, defineVerb, EXIT, textOption } from '../verb.js'

export const status = defineVerb({
  usage: 'status',
  describe: 'Show the state of a running serve or bridge and of its servers',
  flags: {
    url: textOption('The address of the proxy, any of those that it prints when it starts'),
    config: configOption,
    json: { type: 'boolean', describe: 'One JSON document' },
  },
  examples: [
    ['mcp-proxy status', 'The state of the proxy of this user and of its servers'],
    ['mcp-proxy status --url http://127.0.0.1:8808/mcp', 'Of another user, or in a container'],
    ['mcp-proxy status --json | jq -r ".servers[] | select(.state != \\"ready\\").name"', ''],
  ],
  async run(args) {
    const url = args.url === undefined ? await findUrl(args.config) : statusUrl(args.url)
    const text = await askFor(url)
    const found = parseStatus(text, url)
    print(args.json === true ? JSON.stringify(found, null, 2) : shown(found))
    return EXIT.ok
  },
})

// ── which proxy ──

/**
 * The URL of the only proxy, or of the only one with this configuration. Throws a CliError if there is not
 * just one.
 */
const findUrl = async (config: string | undefined): Promise<URL> => {
  const { runningProxies } = await import('../../app/processes/orphans.js')
  const all = await runningProxies()
  const file = config ?? process.env['MCP_PROXY_CONFIG']
  const meant = all.filter(one => config === undefined || runsWith(one, config))
  const reachable = meant.filter(({ url }) => url !== undefined)
  // The variable chooses among several proxies, but does not hide the only one.
  const preferred = reachable.filter(one => file !== undefined && runsWith(one, file))
  const [one, another] = preferred.length === 1 ? preferred : reachable
  if (one?.url === undefined) throw new CliError(EXIT.failure, noneWords(meant))
  if (another === undefined) return statusUrl(one.url)
  const list = reachable.map(each => `  ${nameOf(each)}`).join('\n')
  throw new CliError(EXIT.usage, `several proxies run; choose one with --url or --config:\n${list}`)
}

const runsWith = (one: InstanceRecord, file: string): boolean =>
  one.config !== undefined && isSamePath(one.config, resolve(file))

const noneWords = (found: readonly InstanceRecord[]): string =>
  found.length === 0
    ? 'no proxy of this user runs here, or none with that configuration; give --url for one of another user'
    : `no running proxy has a port to ask: ${found.map(nameOf).join(', ')}`

const nameOf = ({ verb, pid, url, config }: InstanceRecord): string =>
  [`${verb}, pid ${pid}`, url, config].filter(part => part !== undefined).join(', ')

const statusUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new CliError(EXIT.usage, '--url must be a complete http address, such as http://127.0.0.1:8808/mcp')
  }
  return new URL('/status', url)
}

// ── its answer ──

const LIMIT_MS = 5000

const askFor = async (url: URL): Promise<string> => {
  let response: Response
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS), redirect: 'error' })
  } catch (thrown) {
    const isLate = thrown instanceof Error && thrown.name === 'TimeoutError'
    const why = isLate ? `no answer within ${LIMIT_MS / 1000} s` : 'nothing answers'
    throw new CliError(EXIT.failure, `${url.host} cannot be reached: ${why}`)
  }
  if (response.ok) return await response.text()
  await response.body?.cancel()
  const words =
    response.status === 403 ? 'shows its status only to programs on the same machine' : 'is not mcp-proxy'
  throw new CliError(EXIT.failure, `${url.host} ${words} (HTTP ${response.status})`)
}

const parseStatus = (text: string, { host }: URL): ProxyStatus => {
  try {
    const value: unknown = JSON.parse(text)
    if (isStatus(value)) return value
  } catch {
    // As for any other text.
  }
  throw new CliError(EXIT.failure, `${host} is not mcp-proxy`)
}

const isStatus = (value: unknown): value is ProxyStatus =>
  typeof value === 'object' && value !== null && 'servers' in value && Array.isArray(value.servers)

// ── for people ──

const HEADINGS = 'NAME,STATE,SINCE,TRANSPORT,REVISION,PID,TOOLS,CLIENTS,FAILURES,LAST ERROR'.split(',')

const shown = (found: ProxyStatus): string => {
  const head = [
    `${found.name} ${found.version}`,
    `pid ${found.pid}`,
    found.state,
    `up ${spanText(found.upMs)}`,
    count(found.sessions, 'session'),
    `${count(found.calls, 'call')} under way`,
    `${Math.round(found.rssBytes / 2 ** 20)} MiB${found.pressure > 0 ? ', short of memory' : ''}`,
  ]
  const table = tableText(HEADINGS, [...found.servers, ...leavingOf(found)].map(rowOf), stdoutLook())
  const top = [head.join(', '), ...configLines(found)].join('\n')
  return [top, table, ...limitLines(found)].join('\n\n')
}

/** Absent in older versions. */
const leavingOf = ({ leaving = [] }: Partial<ProxyStatus>): readonly ServerStatus[] => leaving

/** Where the configuration comes from, and whether the file has changed since. */
const configLines = ({ config }: ProxyStatus): readonly string[] => {
  if (config === undefined) return []
  const { file, generation, loadedAt, lastReload: last } = config
  const line = `configuration ${file}, loaded ${loadedAt}, generation ${generation}`
  if (last?.result === 'refused') {
    const problems = last.problems.map(problem => `  ${problem}`)
    return [line, `NOT RELOADED at ${last.at}, the old one stays:`, ...problems]
  }
  const waiting = last?.needRestart ?? []
  return waiting.length === 0 ? [line] : [line, `only after a restart: ${waiting.join(', ')}`]
}

/** The limits that were reached; absent in older versions. */
const limitLines = ({ limits = {} }: Partial<ProxyStatus>): readonly string[] => {
  const reached = Object.entries(limits).map(
    ([name, { hits, agoMs }]) => `${name} ${count(hits, 'time')}, last ${spanText(agoMs)} ago`,
  )
  return reached.length === 0 ? [] : [`Limits that were reached: ${reached.join('; ')}`]
}

const rowOf = (server: ServerStatus): string[] => [
  server.name,
  server.state,
  server.connections === 0 ? '-' : spanText(server.stateMs),
  server.transport,
  server.revision ?? '-',
  server.pids.join(' ') || '-',
  `${server.items?.tools ?? '-'}${isCut(server, 'tools') ? '+' : ''}`,
  String(server.clients),
  String(server.failures),
  lastErrorOf(server),
]

const lastErrorOf = ({ lastError, stderr }: ServerStatus): string => {
  if (lastError === undefined) return ''
  const line = stderr?.at(-1)
  const output = line === undefined ? '' : `; it last wrote: ${line}`
  return `${spanText(lastError.agoMs)} ago: ${lastError.message}${output}`
}

/** Whether a list was cut; absent in older versions. */
const isCut = ({ truncated = [] }: Partial<ServerStatus>, list: string): boolean =>
  truncated.some(name => name === list)

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
] as const

/** A span of time in its largest unit. */
export const spanText = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? ['s', 1]
  return `${Math.floor(seconds / size)}${unit}`
}
