import { sep } from 'node:path'
import { systemClock } from '../../../kernel/async/clock.js'
import { within } from '../../../kernel/async/deadline.js'
import { pasteable } from '../../../kernel/machine/own-command.js'
import { homeFolder } from '../../../kernel/machine/who-am-i.js'
import { nothing } from '../../../kernel/nothing.js'
import { plainText } from '../../../kernel/secrets/plain-text.js'
import { unblock } from '../../../transport/node-internals.js'
import { shownText } from './signs.js'

/** Writes a line of data to stdout, for programs and people. */
export const print = (text: string | Uint8Array): void => {
  process.stdout.write(text)
  process.stdout.write('\n')
}

/**
 * Writes a line for people to stdout and makes its commands pasteable; `print` writes documents unchanged.
 */
export const printText = (text: string): void => print(pasteable(text))

/** Writes a line for people to stderr; stdout may carry the protocol. */
export const printToStderr = (text: string): void => {
  process.stderr.write(`${shownText(pasteable(text))}\n`)
}

/** Keeps the process running if the output's reader leaves early, as `head` does, or stops reading. */
export const tolerateReaders = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    unblock(stream)
    stream.off('error', nothing).on('error', nothing)
  }
}

/** Resolves when the operating system has taken all output, or after `ms`. */
export const flush = async (ms = Number.POSITIVE_INFINITY): Promise<void> => {
  await within(Promise.all([process.stdout, process.stderr].map(written)), { clock: systemClock, ms })
}

const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise(resolve => {
    if (!stream.writable) resolve()
    else stream.write('', () => resolve())
  })

/** Returns a server's text as one plain line. */
export const oneLineText = (text: string): string => plainText(text).replace(/\s+/g, ' ').trim()

/** Shortens a path below the home folder to `~`, for people only. */
export const shortPath = (path: string, home = homeFolder()): string =>
  home.length > 1 && path.startsWith(`${home}${sep}`) ? `~${path.slice(home.length)}` : path

/** Prefixes a problem's message with its number (docs/doctor.md) unless it is there already. */
export const numbered = (message: string, number: string | undefined): string =>
  number === undefined || message.startsWith(number) ? message : `${number}: ${message}`

/** Formats a count such as "1 server" or "2 servers". */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
] as const

/** Formats a duration in its largest unit. */
export const spanText = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [unit, size] = UNITS.find(([, least]) => seconds >= least) ?? ['s', 1]
  return `${Math.floor(seconds / size)}${unit}`
}
