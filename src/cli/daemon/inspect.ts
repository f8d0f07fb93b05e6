import { asking } from '../../control/daemon/daemon-lock.js'
import type { SessionStatus } from '../../control/daemon/sessions.js'
import { askDaemon, follow } from '../../shim/ask.js'
import { isAbsent } from '../../shim/place.js'
import { isWanted, type LogFilter } from '../../telemetry/logs/kept-lines.js'
import { runningPlace, wedged } from '../shared/daemon-place.js'
import { followLog, linePrinter, spanMs, writtenLines } from '../shared/log-lines.js'
import { print, printText, printToStderr, spanText } from '../shared/output/output.js'
import { stdoutLayout, tableText } from '../shared/output/table.js'
import { pidOption } from '../shared/running.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption, textOption } from '../shared/verb.js'
import { jsonStatus, parseStatus, shownStatus } from '../status/status.js'

export const status = defineVerb({
  usage: 'status',
  describe: 'Show the daemon, its clients and its servers; code 1 if it does not run',
  flags: {
    config: configOption,
    pid: pidOption,
    all: { type: 'boolean', describe: 'Show the proxies of all configurations of this user' },
    json: jsonOption,
  },
  examples: [
    ['mcp-proxy daemon status', 'Its state, its clients and the path of its log'],
    ['mcp-proxy daemon status --all', 'Every proxy of this user'],
    ['mcp-proxy daemon status --json | jq .clients', 'Its clients, for programs'],
  ],
  async run({ config, pid, all = false, json = false }) {
    if (all) return await showAll(json)
    const where = await runningPlace({ config, pid })
    try {
      const [state, sessions] = [
        await askDaemon(asking(where.place), '/v1/status'),
        await askDaemon(asking(where.place), '/v1/sessions'),
      ]
      const found = parseStatus(state.body, where.place.socket)
      const clients = sessionsIn(sessions.body)
      const { log } = where.place
      if (json) print(JSON.stringify({ ...jsonStatus(found), clients, log }, null, 2))
      else
        printText(
          [shownStatus(found), sessionTable(clients), `log ${log}`].filter(part => part !== '').join('\n\n'),
        )
      return EXIT.ok
    } catch (thrown) {
      if (!isAbsent(thrown)) throw thrown instanceof CliError ? thrown : wedged(thrown, where)
      if (json) print(JSON.stringify({ version: 1, state: 'stopped', log: where.place.log }, null, 2))
      else print(`The daemon of ${where.file} does not run; its log is ${where.place.log}`)
      return EXIT.negative
    }
  },
})

const showAll = async (isJson: boolean): Promise<number> => {
  const { runningProxies } = await import('../../state/processes/orphans.js')
  const all = await runningProxies()
  const rows = all.map(({ pid, verb, config = '-', url = '-', startedAt }) => [
    String(pid),
    verb,
    spanText(Date.now() - Date.parse(startedAt)),
    config,
    url,
  ])
  if (isJson) {
    const proxies = all.map(({ pid, verb, startedAt, config, url }) => ({
      pid,
      verb,
      startedAt,
      config,
      url,
    }))
    print(JSON.stringify({ version: 1, proxies }, null, 2))
  } else print(tableText(['PID', 'VERB', 'AGE', 'CONFIGURATION', 'ADDRESS'], rows, stdoutLayout()))
  return all.length > 0 ? EXIT.ok : EXIT.negative
}

const sessionsIn = (text: string): readonly SessionStatus[] => {
  const { sessions = [] } = JSON.parse(text) as { sessions?: readonly SessionStatus[] }
  return sessions
}

const sessionTable = (sessions: readonly SessionStatus[]): string =>
  sessions.length === 0
    ? ''
    : tableText(
        ['CLIENT', 'PID', 'VERSION', 'AGE', 'CALLS', 'VIEW', 'WORKSPACE'],
        sessions.map(({ client = '-', pid, version, ageMs, calls, view = '-', workspace = '-' }) => [
          client,
          String(pid),
          version,
          spanText(ageMs),
          String(calls),
          view,
          workspace,
        ]),
        stdoutLayout(),
      )

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

export const logs = defineVerb({
  usage: 'logs',
  describe: 'Print the log of the daemon, with what its servers write to stderr',
  flags: {
    config: configOption,
    pid: pidOption,
    follow: { type: 'boolean', alias: 'f', describe: 'Keep printing new lines' },
    server: textOption('Only lines about this server'),
    since: textOption('Only lines of the last minutes or hours, such as 10m'),
    level: { choices: LEVELS, requiresArg: true, describe: 'Only lines of this level and above' },
    json: { type: 'boolean', describe: 'Print the lines as JSON; the default unless stdout is a terminal' },
  },
  examples: [
    ['mcp-proxy daemon logs -f --server github --level warn', 'Problems of one server'],
    ['mcp-proxy daemon logs --since 10m', 'Recent lines'],
    ['mcp-proxy daemon logs --level error', 'Only errors'],
  ],
  async run(args) {
    const { follow: isFollowed = false, server, since, level, json = !process.stdout.isTTY } = args
    const { place } = await runningPlace(args)
    const filter: LogFilter = {
      server,
      level,
      sinceMs: since === undefined ? undefined : Date.now() - spanMs(since),
    }
    const show = linePrinter(json)
    for (const line of writtenLines(place.log)) if (isWanted(line, filter)) show(line)
    if (!isFollowed) return EXIT.ok
    const query = new URLSearchParams({ follow: '' })
    if (server !== undefined) query.set('server', server)
    if (level !== undefined) query.set('level', level)
    await followLog(async (sinceMs = Date.now()) => {
      query.set('since', String(sinceMs))
      return (await follow(asking(place), `/v1/logs?${query.toString()}`)).stream
    }, show)
    printToStderr('mcp-proxy: the daemon has ended')
    return EXIT.ok
  },
})
