import { inspect } from 'node:util'
import { Fault } from '../kernel/faults.js'
import { keepHeapRoom } from './heap-room.js'
import { flush, say, tolerateReaders } from './output/output.js'
import { plainArguments } from './plain-words.js'
import { type Chosen, CliError, EXIT, type Verb } from './verb.js'

/** Runs a command line, without node and script, to its end. Resolves with the exit code; never rejects. */
export const main = async (argv: readonly string[]): Promise<number> => {
  tolerateReaders()
  const done = await run(argv).catch((thrown: unknown) => ({ code: explain(thrown, argv), isService: false }))
  await flush(done.isService ? FLUSH_MS : undefined)
  return done.code
}

/** How long a service waits at its end for those who read what it wrote last. */
const FLUSH_MS = 500

/** What came of a verb. */
interface Done {
  readonly code: number
  readonly isService: boolean
}

const run = async (argv: readonly string[]): Promise<Done> => {
  // What follows -- is somebody else's command line: no parser of ours ever sees it.
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  const command = end === -1 ? undefined : argv.slice(end + 1)
  const chosen = (await chosenPlainly(words, command)) ?? (await chosenByParser(words, command))
  if (chosen === undefined) return { code: EXIT.ok, isService: false }
  if (chosen.isService) keepHeapRoom()
  return { code: await chosen.run(), isService: chosen.isService }
}

/** The parser for people takes 10 MiB, and as long to load as the proxy: only who needs its help waits for it. */
const chosenByParser = async (words: readonly string[], command: readonly string[] | undefined) => {
  const { readCommandLine } = await import('./command-line.js')
  return await readCommandLine(words, command)
}

const chosenPlainly = async (
  [name, ...words]: readonly string[],
  command: readonly string[] | undefined,
): Promise<Chosen | undefined> => {
  const isForCommand = name === 'bridge' || command === undefined
  return name !== undefined && isForCommand && Object.hasOwn(VERBS, name)
    ? await VERBS[name as keyof typeof VERBS](words, command)
    : undefined
}

type Choose = (
  words: readonly string[],
  command: readonly string[] | undefined,
) => Promise<Chosen | undefined>

/** Each is loaded when it is asked for. */
const VERBS = {
  serve: async (...line) => chosenOf((await import('./verbs/serve.js')).serve, ...line),
  stdio: async (...line) => chosenOf((await import('./verbs/stdio.js')).stdio, ...line),
  bridge: async (...line) => chosenOf((await import('./verbs/bridge.js')).bridge, ...line),
  check: async (...line) => chosenOf((await import('./verbs/check.js')).check, ...line),
  list: async (...line) => chosenOf((await import('./verbs/list.js')).list, ...line),
  call: async (...line) => chosenOf((await import('./verbs/call.js')).call, ...line),
  status: async (...line) => chosenOf((await import('./verbs/status.js')).status, ...line),
} as const satisfies Readonly<Record<string, Choose>>

const chosenOf = <T>(verb: Verb<T>, ...[words, command]: Parameters<Choose>): Chosen | undefined => {
  const args = plainArguments(verb, words)
  return args && { isService: verb.isService === true, run: () => verb.run(args, command) }
}

const explain = (thrown: unknown, argv: readonly string[]): number => {
  if (thrown instanceof CliError) {
    say(`mcp-proxy: ${thrown.message}`)
    if (thrown.code === EXIT.usage) say(`Try: mcp-proxy ${helpFor(argv)}--help`)
    return thrown.code
  }
  const isForeseen = thrown instanceof Fault && thrown.code !== 'internal'
  say(`mcp-proxy: ${isForeseen ? thrown.message : inspect(thrown)}`)
  return thrown instanceof Fault ? EXIT.failure : EXIT.negative
}

const helpFor = ([word]: readonly string[]): string =>
  word !== undefined && Object.hasOwn(VERBS, word) ? `${word} ` : ''
