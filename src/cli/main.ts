import { hasCurrentFolder, NO_FOLDER } from '../machine/current-folder.js'
import { flush, tolerateReaders } from './output/output.js'
import { parseSimple } from './parse-simple.js'
import { type Chosen, CliError, EXIT, type Verb } from './verb.js'

/** How long a service that ends waits for its output to be read. */
const FLUSH_MS = 500

/**
 * Runs a command line, without node and script, to its end. `keepCode` keeps the code that V8 compiled for a
 * service. Resolves with the exit code; never rejects.
 */
export const main = async (
  argv: readonly string[],
  keepCode: () => Promise<void> = () => Promise.resolve(),
): Promise<number> => {
  tolerateReaders()
  const { code, isService } = await run(argv).catch(async (thrown: unknown) => ({
    code: await explained(thrown, argv),
    isService: false,
  }))
  await flush(isService ? FLUSH_MS : undefined)
  if (isService) await keepCode()
  return code
}

const run = async (argv: readonly string[]) => {
  if (!hasCurrentFolder()) throw new CliError(EXIT.failure, NO_FOLDER.message, NO_FOLDER)
  // What follows -- is another program's command line, which no parser of ours may see.
  const end = argv.indexOf('--')
  const [first, ...others] = end === -1 ? argv : argv.slice(0, end)
  const command = end === -1 ? undefined : argv.slice(end + 1)
  if (first === undefined && command === undefined) return { code: await overviewed(), isService: false }
  if (first === '--get-yargs-completions') return { code: await completed(argv.slice(1)), isService: false }
  const all = first === undefined ? [] : [first, ...others]
  const words = first === 'help' ? [...others, '--help'] : all
  const chosen = (await chooseSimply(words, command)) ?? (await chooseWithYargs(words, command))
  if (chosen === undefined) return { code: EXIT.ok, isService: false }
  return { code: await chosen.run(), isService: chosen.isService }
}

const overviewed = async (): Promise<number> => {
  const { overview } = await import('./overview.js')
  return await overview()
}

const completed = async (words: readonly string[]): Promise<number> => {
  const { complete } = await import('./complete.js')
  return await complete(words)
}

const chooseWithYargs = async (words: readonly string[], command: readonly string[] | undefined) => {
  const { readCommandLine } = await import('./command-line.js')
  return await readCommandLine(words, command)
}

/**
 * yargs takes 13 MiB for as long as we run, and 60 ms to load and to lay out a help that nobody has asked
 * for: services with simple arguments do without, and doctor, which programs ask often.
 */
const chooseSimply = async (
  [name = '', ...words]: readonly string[],
  command: readonly string[] | undefined,
): Promise<Chosen | undefined> => {
  const load = SIMPLE.get(name)
  if (load === undefined) return undefined
  const verb = await load()
  if (command !== undefined && verb.takesCommand !== true) return undefined
  const args = parseSimple(verb, words)
  return args && { isService: verb.isService === true, run: () => verb.run(args, command) }
}

const SIMPLE = new Map<string, () => Promise<Verb>>([
  ['doctor', async () => (await import('./verbs/doctor/doctor.js')).doctor],
  ['serve', async () => (await import('./verbs/serve.js')).serve],
  ['stdio', async () => (await import('./verbs/stdio.js')).stdio],
  ['bridge', async () => (await import('./verbs/bridge.js')).bridge],
  ['why', async () => (await import('./verbs/why.js')).why],
  ['status', async () => (await import('./verbs/status.js')).status],
  ['logs', async () => (await import('./verbs/logs.js')).logs],
])

/** Says what went wrong; the words that name a command lead to its help. */
const explained = async (thrown: unknown, argv: readonly string[]): Promise<number> => {
  const [{ explainError }, { commandAt, isGroup }] = await Promise.all([
    import('./explain.js'),
    import('./all-verbs.js'),
  ])
  const command = commandAt(argv)
  const isInGroup = command !== undefined && command !== commandAt(argv.slice(0, 1))
  return explainError(
    thrown,
    command === undefined ? [] : argv.slice(0, isInGroup && !isGroup(command) ? 2 : 1),
  )
}
