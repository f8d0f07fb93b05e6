import { unblock } from '../../app/unblock.js'
import { systemClock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { plainText } from '../../kernel/plain-text.js'

/** Writes data to stdout; for programs as well as for people. */
export const print = (text: string | Uint8Array): void => {
  process.stdout.write(text)
  process.stdout.write('\n')
}

/** Writes words for people to stderr; stdout may be the protocol. */
export const say = (words: string): void => {
  process.stderr.write(`${words}\n`)
}

/** Whoever should read our output may leave early, such as `head`, or not read at all: no reason to crash, or to stop for it. */
export const tolerateReaders = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    unblock(stream)
    stream.off('error', ignore).on('error', ignore)
  }
}

const ignore = (): void => undefined

/** Resolves when all that was written is out of our hands, or after `limitMs`: whoever should read it may not. */
export const flush = async (limitMs = Number.POSITIVE_INFINITY): Promise<void> => {
  await within(Promise.all([process.stdout, process.stderr].map(written)), {
    clock: systemClock,
    ms: limitMs,
  })
}

const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise(resolve => {
    if (!stream.writable) resolve()
    else stream.write('', () => resolve())
  })

/** Text of a server as one line. */
export const oneLine = (text: string): string => plainText(text).replace(/\s+/g, ' ').trim()
