import { existsSync } from 'node:fs'
import { configTarget } from '../shared/configuration.js'
import { followLog, linePrinter, spanMs, writtenLines } from '../shared/log-lines.js'
import { printToStderr } from '../shared/output/output.js'
import { askRunning, chooseRunning, followRunning, pidOption, theRunning } from '../shared/running.js'
import { configOption, defineVerb, EXIT, textOption } from '../shared/verb.js'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

export const logs = defineVerb({
  usage: 'logs [server]',
  describe: 'Print the last lines of the log of a running proxy, with what its servers write to stderr',
  flags: {
    config: configOption,
    pid: pidOption,
    follow: { type: 'boolean', alias: 'f', describe: 'Keep printing new lines' },
    level: { choices: LEVELS, requiresArg: true, describe: 'Only lines of this level and above' },
    since: textOption('Only lines of the last minutes or hours, such as 10m'),
    json: { type: 'boolean', describe: 'Print the lines as JSON' },
  },
  positionals: { server: { type: 'string', describe: 'Only lines about this server' } },
  examples: [
    ['mcp-proxy logs github', 'The output of a server, even if it failed to start'],
    ['mcp-proxy logs -f --level warn', 'Follow warnings and errors'],
    ['mcp-proxy logs --since 10m --json', 'Recent lines, as JSON'],
  ],
  async run({ server, config, pid, follow = false, level, since, json = false }) {
    const query = new URLSearchParams()
    if (server !== undefined) query.set('server', server)
    if (level !== undefined) query.set('level', level)
    if (since !== undefined) query.set('since', String(Date.now() - spanMs(since)))
    const show = linePrinter(json)
    const written = follow ? undefined : await writtenLog({ config, pid }, query)
    if (written !== undefined) {
      written.forEach(show)
      if (written.length === 0) printToStderr(`mcp-proxy: no matching lines${aboutText(server)}`)
      return EXIT.ok
    }
    const one = await theRunning(config, pid)
    if (!follow) {
      const lines = (await askRunning(one, `/v1/logs?${query.toString()}`)).split('\n').filter(Boolean)
      lines.forEach(show)
      if (lines.length === 0) printToStderr(`mcp-proxy: no matching lines${aboutText(server)}`)
      return EXIT.ok
    }
    query.set('follow', '')
    await followLog(async sinceMs => {
      if (sinceMs !== undefined) query.set('since', String(sinceMs))
      const { config: file = '' } = one
      const now = sinceMs === undefined ? one : await theRunning(file)
      return (await followRunning(now, `/v1/logs?${query.toString()}`)).stream
    }, show)
    printToStderr('mcp-proxy: the proxy has ended')
    return EXIT.ok
  },
})

/** Returns matching lines of the daemon's log file, if no proxy runs. */
const writtenLog = async (
  { config, pid }: { readonly config: string | undefined; readonly pid: string | undefined },
  query: URLSearchParams,
): Promise<readonly string[] | undefined> => {
  const { all } = await chooseRunning(config, pid)
  if (all.length > 0 || pid !== undefined || !existsSync(configTarget(config))) return undefined
  const [{ daemonPlace }, { isWanted }] = await Promise.all([
    import('../shared/daemon-place.js'),
    import('../../telemetry/logs/kept-lines.js'),
  ])
  const since = query.get('since')
  const filter = {
    server: query.get('server') ?? undefined,
    level: query.get('level') ?? undefined,
    sinceMs: since === null ? undefined : Number(since),
  }
  const lines = writtenLines(daemonPlace(config).place.log)
  return lines.length === 0 ? undefined : lines.filter(line => isWanted(line, filter))
}

const aboutText = (server: string | undefined): string =>
  server === undefined ? '' : `; mcp-proxy why ${server} shows whether the server exists`
