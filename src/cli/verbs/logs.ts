import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createColors } from 'picocolors'
import { configTarget } from '../configuration.js'
import { print, say } from '../output/output.js'
import { stdoutLook } from '../output/table.js'
import { askRunning, chooseRunning, followRunning, pidOption, theRunning } from '../running.js'
import { CliError, configOption, defineVerb, EXIT, textOption } from '../verb.js'

const LEVELS = ['debug', 'info', 'warn', 'error'] as const

export const logs = defineVerb({
  usage: 'logs [server]',
  describe: 'Print the last lines of the log of a running proxy, with what its servers write to stderr',
  flags: {
    config: configOption,
    pid: pidOption,
    follow: { type: 'boolean', alias: 'f', describe: 'Go on as lines come' },
    level: { choices: LEVELS, requiresArg: true, describe: 'Only lines at least this important' },
    since: textOption('Only lines of this last time, such as 10m'),
    json: { type: 'boolean', describe: 'The lines as they are, in JSON' },
  },
  positionals: { server: { type: 'string', describe: 'Only lines about this server' } },
  examples: [
    ['mcp-proxy logs github', 'What a server said, also one that never started'],
    ['mcp-proxy logs -f --level warn', 'What goes wrong, as it does'],
    ['mcp-proxy logs --since 10m --json', 'What happened of late, for programs'],
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
      if (written.length === 0) say(`mcp-proxy: there are no such lines${aboutWords(server)}`)
      return EXIT.ok
    }
    const one = await theRunning(config, pid)
    if (!follow) {
      const lines = (await askRunning(one, `/v1/logs?${query.toString()}`)).split('\n').filter(Boolean)
      lines.forEach(show)
      if (lines.length === 0) say(`mcp-proxy: there are no such lines${aboutWords(server)}`)
      return EXIT.ok
    }
    query.set('follow', '')
    await followLog(async sinceMs => {
      if (sinceMs !== undefined) query.set('since', String(sinceMs))
      const { config: file = '' } = one
      const now = sinceMs === undefined ? one : await theRunning(file)
      return (await followRunning(now, `/v1/logs?${query.toString()}`)).stream
    }, show)
    say('mcp-proxy: the proxy has ended')
    return EXIT.ok
  },
})

/** The lines of the daemon's log that fit, if no proxy is running and there are any. */
const writtenLog = async (
  { config, pid }: { readonly config: string | undefined; readonly pid: string | undefined },
  query: URLSearchParams,
): Promise<readonly string[] | undefined> => {
  const { all } = await chooseRunning(config, pid)
  if (all.length > 0 || pid !== undefined || !existsSync(configTarget(config))) return undefined
  const [{ daemonPlace }, { writtenLines }, { isWanted }] = await Promise.all([
    import('./daemon/place.js'),
    import('./daemon/look.js'),
    import('../../app/control/kept-lines.js'),
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

/** How long the next proxy may take to come. */
const NEXT_MS = 10_000
const POLL_MS = 250

/**
 * Shows the lines of a log as they come, and goes on with the next proxy if one comes soon after this one:
 * daemons are started again by their clients. `open` gets the time from which on lines are new, but for the
 * first time.
 */
export const followLog = async (
  open: (sinceMs: number | undefined) => Promise<Socket>,
  show: (line: string) => void,
): Promise<void> => {
  let stream: Socket | undefined = await open(undefined)
  while (stream !== undefined) {
    await showLines(stream, show)
    const endedMs = Date.now()
    stream = undefined
    while (stream === undefined && Date.now() - endedMs < NEXT_MS) {
      await delay(POLL_MS)
      stream = await open(endedMs).catch(() => undefined)
    }
    if (stream !== undefined) say('mcp-proxy: the next proxy goes on')
  }
}

const aboutWords = (server: string | undefined): string =>
  server === undefined ? '' : `; mcp-proxy why ${server} says whether there is such a server`

/** Prints lines of a log: for programs as they are, else for people. */
export const linePrinter = (isJson: boolean) => {
  const { dim, yellow, red } = createColors(stdoutLook().hasColor)
  const paint = (level: number, word: string): string =>
    level >= 50 ? red(word) : level >= 40 ? yellow(word) : level < 30 ? dim(word) : word
  return (line: string): void => print(isJson ? line : readable(line, paint))
}

/** Shows the lines that come on a stream, and resolves when it has ended. */
const showLines = (stream: Socket, show: (line: string) => void): Promise<void> => {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') show(line)
  })
  return new Promise(resolve => {
    stream.once('end', () => stream.destroy())
    stream.once('close', () => resolve())
    stream.resume()
  })
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A span of time as people write it. Throws a CliError for anything else. */
export const spanMs = (text: string): number => {
  const [, number = '', unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  const ms = Number(number) * (UNITS[unit] ?? Number.NaN)
  if (number === '' || Number.isNaN(ms))
    throw new CliError(EXIT.usage, `--since must be a time such as 10m, not "${text}"`)
  return ms
}

const LEVEL_WORDS: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' }

/** A line of the log for people; what is no JSON stays as it is. */
const readable = (line: string, paint: (level: number, word: string) => string): string => {
  let facts: Record<string, unknown>
  try {
    facts = JSON.parse(line) as Record<string, unknown>
  } catch {
    return line
  }
  const { time, level, msg, server, stderr, ...rest } = facts
  const date = new Date(Number(time))
  // Words of Node are no lines of ours, even if they are JSON.
  if (Number.isNaN(date.getTime())) return line
  const at = date.toISOString().slice(11, 19)
  const about = typeof server === 'string' ? `${server}: ` : ''
  const words = typeof stderr === 'string' ? stderr : String(msg)
  const more = Object.entries(rest).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`)
  return `${at} ${paint(Number(level), (LEVEL_WORDS[Number(level)] ?? '').padEnd(5))} ${about}${words}${more.join('')}`
}
