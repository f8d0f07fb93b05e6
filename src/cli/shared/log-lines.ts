import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createColors } from 'picocolors'
import { print, printToStderr } from './output/output.js'
import { stdoutLayout } from './output/table.js'
import { CliError, EXIT } from './verb.js'

/** Returns the lines of the log file and its predecessor; empty without a log. */
export const writtenLines = (log: string): readonly string[] =>
  [`${log}.1`, log].flatMap(path => {
    try {
      return readFileSync(path, 'utf8')
        .split('\n')
        .filter(line => line !== '')
    } catch {
      return []
    }
  })

/** Maximum wait for the next proxy. */
const NEXT_MS = 10_000
const POLL_MS = 250

/**
 * Prints log lines as they arrive. When the proxy ends, continues with the next one if it starts soon,
 * because clients restart daemons. `open` receives the time of the first new line, except on the first call.
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
    if (stream !== undefined) printToStderr('mcp-proxy: continuing with the next proxy')
  }
}

/** Returns a printer of log lines: raw JSON, or readable text. */
export const linePrinter = (isJson: boolean) => {
  const { dim, yellow, red } = createColors(stdoutLayout().hasColor)
  const paint = (level: number, word: string): string =>
    level >= 50 ? red(word) : level >= 40 ? yellow(word) : level < 30 ? dim(word) : word
  return (line: string): void => print(isJson ? line : readable(line, paint))
}

/** Prints the lines of a stream and resolves when the stream ends. */
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

/** Parses a duration such as `10m`. Returns milliseconds; throws a CliError. */
export const spanMs = (text: string): number => {
  const [, number = '', unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? []
  const ms = Number(number) * (UNITS[unit] ?? Number.NaN)
  if (number === '' || Number.isNaN(ms))
    throw new CliError(EXIT.usage, `--since must be a time such as 10m, not "${text}"`)
  return ms
}

const LEVEL_WORDS: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' }

/** Formats a log line for people; returns non-JSON lines unchanged. */
const readable = (line: string, paint: (level: number, word: string) => string): string => {
  let facts: Record<string, unknown>
  try {
    facts = JSON.parse(line) as Record<string, unknown>
  } catch {
    return line
  }
  const { time, level, msg, server, stderr, ...rest } = facts
  const date = new Date(Number(time))
  // Node's own messages are not log lines, even if they are JSON.
  if (Number.isNaN(date.getTime())) return line
  const at = date.toISOString().slice(11, 19)
  const about = typeof server === 'string' ? `${server}: ` : ''
  const message = typeof stderr === 'string' ? stderr : String(msg)
  const more = Object.entries(rest).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`)
  return `${at} ${paint(Number(level), (LEVEL_WORDS[Number(level)] ?? '').padEnd(5))} ${about}${message}${more.join('')}`
}
