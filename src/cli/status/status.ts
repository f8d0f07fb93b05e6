import { existsSync } from 'node:fs'
import type { VariableStatus } from '../../control/environment/environment.js'
import { cause } from '../../diagnostics/explain.js'
import { withErrorLine } from '../../kernel/error-lines.js'
import { isObject, objectIn } from '../../kernel/object.js'
import type { CallInFlight } from '../../telemetry/status/calls-in-flight.js'
import type { ProxyStatus, ServerStatus } from '../../telemetry/status/status.js'
import { configTarget } from '../shared/configuration.js'
import { count, numbered, print, printText, spanText } from '../shared/output/output.js'
import { stdoutLayout, tableText } from '../shared/output/table.js'
import { askRunning, chooseRunning, pidOption, runningName, theRunning } from '../shared/running.js'
import {
  CliError,
  causeError,
  configOption,
  defineVerb,
  EXIT,
  NO_SERVERS,
  textOption,
} from '../shared/verb.js'
import { answerAtRest } from './at-rest.js'
import { showTools } from './tool-times.js'

export const status = defineVerb({
  usage: 'status',
  describe: 'Show the state of a running serve or bridge and of its servers',
  flags: {
    url: textOption('The address of the proxy, as it prints it at startup'),
    config: configOption,
    pid: pidOption,
    env: { type: 'boolean', describe: 'Show the source of each variable of the configuration' },
    tools: { type: 'boolean', describe: 'Show the number and duration of calls for each tool' },
    cluster: { type: 'boolean', describe: 'Show the replicas of its cluster and their engine' },
    json: { type: 'boolean', describe: 'One JSON document' },
  },
  examples: [
    ['mcp-proxy status', 'The state of the proxy of this user and of its servers'],
    ['mcp-proxy status --url http://127.0.0.1:8808/mcp', 'Of another user, or in a container'],
    ['mcp-proxy status --json | jq -r ".servers[] | select(.state != \\"ready\\").name"', ''],
  ],
  async run(args) {
    if (args.env === true) return await showVariables(args)
    if (args.tools === true) return await showTools(args)
    const found =
      args.url === undefined ? await askOwn(args.config, args.pid) : await askUrl(statusUrl(args.url))
    if (args.cluster === true) return showCluster(found, args.json === true)
    if (args.json === true) print(JSON.stringify(jsonStatus(found), null, 2))
    else printText(shownStatus(found))
    return EXIT.ok
  },
})

// ── which proxy ──

/** Asks the selected running proxy, or shows the configuration if none runs. Throws a CliError. */
const askOwn = async (config: string | undefined, pid: string | undefined): Promise<ProxyStatus> => {
  const { one: running, all } = await chooseRunning(config, pid)
  if (running === undefined && all.length === 0 && pid === undefined && existsSync(configTarget(config)))
    return { ...((await answerAtRest(config, '/status')) as ProxyStatus), state: 'stopped', pid: 0 }
  const one = running ?? (await theRunning(config, pid))
  if (one.socket !== undefined) return parseStatus(await askRunning(one, '/v1/status'), one.socket)
  if (one.url !== undefined) return await askUrl(statusUrl(one.url))
  throw new CliError(EXIT.failure, `the running proxy cannot be queried: ${runningName(one)}`)
}

const statusUrl = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new CliError(EXIT.usage, '--url must be a complete http address, such as http://127.0.0.1:8808/mcp')
  }
  const [, base = ''] = /^(.*)\/(?:mcp|sse|ws)(?:\/|$)/.exec(url.pathname) ?? []
  return new URL(`${base.replace(/\/servers\/[^/]+$/, '')}/status`, url)
}

// ── its answer ──

const LIMIT_MS = 5000

const askUrl = async (url: URL): Promise<ProxyStatus> => parseStatus(await askFor(url), url.host)

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
  const message =
    response.status === 403 ? 'shows its status only to programs on the same machine' : 'is not mcp-proxy'
  throw new CliError(EXIT.failure, `${url.host} ${message} (HTTP ${response.status})`)
}

/** Parses a response of `/status`. Throws a CliError for any other text. */
export const parseStatus = (text: string, host: string): ProxyStatus => {
  try {
    const value: unknown = JSON.parse(text)
    if (isStatus(value)) return value
  } catch {
    // Invalid JSON; reported below.
  }
  throw new CliError(EXIT.failure, `${host} is not mcp-proxy`)
}

const isStatus = (value: unknown): value is ProxyStatus => isObject(value) && Array.isArray(value['servers'])

// ── its variables ──

interface Asked {
  readonly url?: string | undefined
  readonly config?: string | undefined
  readonly pid?: string | undefined
  readonly json?: boolean | undefined
}

/** Shows the sources of variables, which only the user may see. */
const showVariables = async ({ url, config, pid, json }: Asked): Promise<number> => {
  if (url !== undefined) throw new CliError(EXIT.usage, '--env works only on this machine, without --url')
  const one = await theRunning(config, pid)
  const variables = variablesIn(await askRunning(one, '/v1/env'))
  const row = ({ name, from, waiting }: VariableStatus): string[] =>
    from === undefined ? [name, 'not set (D020)', waiting.join(' ')] : [name, from, '']
  if (json === true) print(JSON.stringify({ version: 1, variables }, null, 2))
  else print(tableText(['NAME', 'FROM', 'WAITING FOR IT'], variables.map(row), stdoutLayout()))
  return EXIT.ok
}

const variablesIn = (text: string): readonly VariableStatus[] => {
  const all = objectIn(text)?.['variables']
  return Array.isArray(all) ? (all as readonly VariableStatus[]) : []
}

// ── the other replicas ──

/** Throws a CliError for a proxy without a cluster. */
const showCluster = ({ cluster }: ProxyStatus, isJson: boolean): number => {
  if (cluster === undefined) {
    throw causeError(EXIT.failure, cause('cli.no-cluster', {}))
  }
  const { engine, state, members, sessions, forwarded, adoptions, held, lost, fenced, late } = cluster
  const shownMembers = members.map(({ id, address, state: is }) => ({ id, address, state: is }))
  if (isJson) print(JSON.stringify({ version: 1, cluster: { engine, members: shownMembers } }, null, 2))
  else {
    const head = [`engine ${engine}`, `this replica is ${state}`, count(sessions, 'session')]
    const done = [`${count(forwarded, 'exchange')} passed on`, `${held} wait`, `${lost} lost`]
    const row = ({ id, address, state: is, version, isSelf }: (typeof members)[number]): string[] => [
      ...[id, address, is, version, isSelf ? 'this one' : ''],
    ]
    print(
      [...head, ...done, `${count(adoptions.record + adoptions.rebuilt, 'session')} taken over`].join(', '),
    )
    const reasons = Object.entries(late).filter(([, times]) => times > 0)
    const odd = [
      ...(fenced > 0 ? [`the lease of this replica expired ${count(fenced, 'time')}`] : []),
      ...reasons.map(([reason, times]) => `503 with ${reason}: ${times}`),
    ]
    if (odd.length > 0) print(odd.join(', '))
    print(tableText(['ID', 'ADDRESS', 'STATE', 'VERSION', ''], members.map(row), stdoutLayout()))
  }
  return EXIT.ok
}

// ── for people ──

const HEADINGS = 'NAME,STATE,SINCE,TRANSPORT,REVISION,PID,TOOLS,CLIENTS,FAILURES,LAST ERROR'.split(',')

/** Returns the JSON form of a status. Its top-level version is the form's; the proxy's version is nested. */
export const jsonStatus = ({ name, version, ...rest }: ProxyStatus): object => ({
  version: 1,
  name,
  proxy: { name, version },
  ...rest,
})

export const shownStatus = (found: ProxyStatus): string => {
  const isStopped = found.state === 'stopped'
  const head = [
    `${found.name} ${found.version}`,
    `pid ${found.pid}`,
    found.state,
    `up ${spanText(found.upMs)}`,
    count(found.sessions, 'session'),
    callsText(found),
    `${Math.round(found.rssBytes / 2 ** 20)} MiB${found.pressure > 0 ? ', short of memory' : ''}`,
  ]
  const rows = [...found.servers, ...leavingOf(found)].map(rowOf)
  const table = rows.length === 0 ? NO_SERVERS : tableText(HEADINGS, rows, stdoutLayout())
  const first = isStopped ? `${found.name} ${found.version}, not running: clients start it` : head.join(', ')
  const top = [first, ...configLines(found), ...authLines(found)].join('\n')
  const calls = inFlightTable(found)
  const lines = [
    addressLines(found),
    remarkLines(found),
    exposedLines(found),
    principalLines(found),
    limitLines(found),
  ]
  return [top, table, calls, ...lines.map(each => each.join('\n'))].filter(Boolean).join('\n\n')
}

const callsText = ({ calls, oldestCallMs }: ProxyStatus): string => {
  const oldest = oldestCallMs === undefined ? '' : `, the oldest for ${spanText(oldestCallMs)}`
  return `${count(calls, 'call')} under way${oldest}`
}

const STAGES: Readonly<Record<CallInFlight['where'], string>> = {
  proxy: 'in the proxy',
  waiting: 'waiting for its server',
  server: 'at its server',
}

/** Shows the oldest calls in flight; absent in older versions. */
const inFlightTable = ({ calls, inFlight = [] }: Partial<ProxyStatus>): string => {
  if (inFlight.length === 0) return ''
  const rows = inFlight.map(({ ageMs, server, name, method, clientName, client, where }) => [
    spanText(ageMs),
    server ?? '-',
    name ?? method,
    clientName ?? `client ${client}`,
    STAGES[where],
  ])
  const table = tableText(['IN FLIGHT', 'SERVER', 'CALL', 'CLIENT', 'STAGE'], rows, stdoutLayout())
  const rest = (calls ?? 0) - inFlight.length
  return rest > 0 ? `${table}\nand ${count(rest, 'more call')}` : table
}

/** Absent in older versions. */
const leavingOf = ({ leaving = [] }: Partial<ProxyStatus>): readonly ServerStatus[] => leaving

/** Shows the configuration's source, and whether the file changed since it was read. */
const configLines = ({ config }: ProxyStatus): readonly string[] => {
  if (config === undefined) return []
  const { file, generation, loadedAt, lastReload: last } = config
  const line = `configuration ${file}, loaded ${loadedAt}, generation ${generation}`
  if (last?.result === 'refused') {
    const problems = last.problems.map(problem => `  ${problem}`)
    return [line, `NOT RELOADED at ${last.at} (D014), the old one stays:`, ...problems]
  }
  const waiting = last?.needRestart ?? []
  return [
    line,
    ...(waiting.length === 0 ? [] : [`only after a restart (D015): ${waiting.join(', ')}`]),
    ...wrongIn(config),
  ]
}

/** Returns the file's errors, each of which may have removed a server; absent in older versions. */
const wrongIn = ({ problems }: Partial<NonNullable<ProxyStatus['config']>>): readonly string[] =>
  problems?.wrong ?? []

/** Shows the accepted credentials over HTTP; absent in older versions. */
const authLines = ({ auth }: Partial<ProxyStatus>): readonly string[] => {
  if (auth === undefined) return []
  const { people, issuers, embedded, refused } = auth
  const sources = [
    ...(people > 0 ? [`tokens of ${people === 1 ? '1 person' : `${people} people`}`] : []),
    ...issuers,
    ...(embedded ? ['its own authorization server'] : []),
  ]
  return [`auth: ${sources.join(', ') || 'no tokens'}; ${count(refused, 'refused credential')}`]
}

/** Shows the address of each server alone; absent in older versions. */
const addressLines = ({ servers }: ProxyStatus): readonly string[] =>
  servers.flatMap(({ name, url }: Partial<ServerStatus>) => (url === undefined ? [] : [`${name}: ${url}`]))

/** Shows warnings about servers, including working ones; absent in older versions. */
const remarkLines = ({ servers }: ProxyStatus): readonly string[] =>
  servers.flatMap(({ name, remarks = [] }: Partial<ServerStatus>) =>
    remarks.map(({ message }) => `${name}: it ${message}`),
  )

/** Shows how clients see tools; absent in older versions. */
const exposedLines = ({ exposed = [] }: Partial<ProxyStatus>): readonly string[] =>
  exposed.map(({ client, view, mode, why, clients }) => {
    const who = `${client || 'a client without a name'}${clients > 1 ? ` (${clients})` : ''}`
    const where = view === 'default' ? '' : `, view ${view}`
    return `${who}${where}: ${mode === 'search' ? 'searches tools' : 'is shown all tools'}; ${why}`
  })

/** Shows servers where each user has a login. */
const principalLines = ({ servers }: ProxyStatus): readonly string[] =>
  servers.flatMap(({ name, principals }) =>
    principals === undefined
      ? []
      : [
          `${name}: one login for each user; ${principals.signedIn} of ${principals.served} here are signed in`,
        ],
  )

/** Shows the limits that were reached; absent in older versions. */
const limitLines = ({ limits = {} }: Partial<ProxyStatus>): readonly string[] => {
  const reached = Object.entries(limits).map(
    ([name, { hits, agoMs }]) => `${name} ${count(hits, 'time')}, last ${spanText(agoMs)} ago`,
  )
  return reached.length === 0 ? [] : [`Limits that were reached (D080): ${reached.join('; ')}`]
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

const lastErrorOf = ({ lastError, state, stderr, why }: ServerStatus): string => {
  if (state === 'waiting' || lastError === undefined) return why ?? ''
  const { agoMs, doctor, message } = lastError
  return `${spanText(agoMs)} ago: ${numbered(withErrorLine(message, stderr), doctor)}`
}

/** Returns whether a list was truncated; absent in older versions. */
const isCut = ({ truncated = [] }: Partial<ServerStatus>, list: string): boolean =>
  truncated.some(name => name === list)
