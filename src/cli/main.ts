import { inspect } from 'node:util'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { Fault } from '../kernel/faults.js'
import { flush, say, tolerateReaders } from './output/output.js'
import { parseSimple } from './parse-simple.js'
import { type Chosen, CliError, EXIT, type Verb } from './verb.js'

/** How long a service that ends waits for its output to be read. */
const FLUSH_MS = 500

/** Runs a command line, without node and script, to its end. Resolves with the exit code; never rejects. */
export const main = async (argv: readonly string[]): Promise<number> => {
  tolerateReaders()
  const { code, isService } = await run(argv).catch((thrown: unknown) => ({
    code: explain(thrown, argv),
    isService: false,
  }))
  await flush(isService ? FLUSH_MS : undefined)
  return code
}

const run = async (argv: readonly string[]) => {
  // What follows -- is another program's command line, which no parser of ours may see.
  const end = argv.indexOf('--')
  const words = end === -1 ? argv : argv.slice(0, end)
  const command = end === -1 ? undefined : argv.slice(end + 1)
  const chosen = (await chooseSimple(words, command)) ?? (await chooseWithYargs(words, command))
  if (chosen === undefined) return { code: EXIT.ok, isService: false }
  if (chosen.isService) keepHeapRoom()
  return { code: await chosen.run(), isService: chosen.isService }
}

/** yargs takes 10 MiB and as long to load as the proxy, so it is loaded only where it is needed. */
const chooseWithYargs = async (words: readonly string[], command: readonly string[] | undefined) => {
  const { readCommandLine } = await import('./command-line.js')
  return await readCommandLine(words, command)
}

const chooseSimple = async (
  [name = '', ...words]: readonly string[],
  command: readonly string[] | undefined,
): Promise<Chosen | undefined> => {
  const load = VERBS.get(name)
  if (load === undefined || (command !== undefined && name !== 'bridge')) return undefined
  const verb = await load()
  const args = parseSimple(verb, words)
  return args && { isService: verb.isService === true, run: () => verb.run(args, command) }
}

const VERBS = new Map<string, () => Promise<Verb>>([
  ['serve', async () => (await import('./verbs/serve.js')).serve],
  ['stdio', async () => (await import('./verbs/stdio.js')).stdio],
  ['bridge', async () => (await import('./verbs/bridge.js')).bridge],
  ['check', async () => (await import('./verbs/check.js')).check],
  ['list', async () => (await import('./verbs/list.js')).list],
  ['call', async () => (await import('./verbs/call.js')).call],
  ['status', async () => (await import('./verbs/status.js')).status],
])

const explain = (thrown: unknown, [word = '']: readonly string[]): number => {
  if (thrown instanceof CliError) {
    say(`mcp-proxy: ${thrown.message}`)
    if (thrown.code === EXIT.usage) say(`Try: mcp-proxy ${VERBS.has(word) ? `${word} ` : ''}--help`)
    return thrown.code
  }
  const isExpected = thrown instanceof Fault && thrown.code !== 'internal'
  say(`mcp-proxy: ${isExpected ? thrown.message : inspect(thrown)}`)
  return thrown instanceof Fault ? EXIT.failure : EXIT.negative
}

/**
 * How much may be allocated between two collections of the whole heap; V8 collects its young part after 32
 * MiB at most.
 */
const ROOM_BYTES = 64 * 1024 * 1024
const HEAP_CHECK_MS = 1000
/** How much the estimate of the live heap may grow at each check. */
const CREEP = 1.02

/**
 * By how many percent a heap with this much in use may grow: by `ROOM_BYTES`, or twofold if that is more.
 * @internal
 */
export const growthPercent = (usedBytes: number): number =>
  Math.max(100, Math.round((100 * ROOM_BYTES) / usedBytes))

/**
 * Gives V8 room to collect young objects first. It counts the bytes of messages as part of the heap, which is
 * small beside large messages, and would otherwise collect all of it every few of them (V8,
 * src/heap/memory-controller.h). Halves the cost of large messages.
 */
const keepHeapRoom = (): void => {
  let liveBytes = Number.POSITIVE_INFINITY
  let percent = 0
  const check = (): void => {
    liveBytes = Math.min(liveBytes * CREEP, getHeapStatistics().used_heap_size)
    const next = growthPercent(liveBytes)
    if (Math.abs(next - percent) * 10 < percent) return
    percent = next
    setFlagsFromString(`--heap-growing-percent=${percent}`)
  }
  check()
  setInterval(check, HEAP_CHECK_MS).unref()
}
