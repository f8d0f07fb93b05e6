import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createColors } from 'picocolors'
import { print, say } from './output/output.js'
import { stdoutLook } from './output/table.js'
import { CliError, EXIT } from './verb.js'

/** The lines of the log and of the one before it; none if there is no log. */
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
