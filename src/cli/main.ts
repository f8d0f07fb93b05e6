import { hasCurrentFolder, NO_FOLDER } from '../kernel/machine/current-folder.js'
import { parseSimple } from './parse-simple.js'
import { flush, tolerateReaders } from './shared/output/output.js'
import { type Chosen, CliError, EXIT, type Verb } from './shared/verb.js'

/** Maximum wait for readers to take the remaining output of a service. */
const FLUSH_MS = 500

/**
 * Runs a command line (without node and script) and resolves with the exit code; never rejects. `keepCode`
 * saves the compiled V8 code of a service.
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
  // Words after -- belong to another program's command line; our parser must not read them.
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
 * Avoids yargs, which costs 13 MiB and 60 ms, for services with simple arguments and for doctor, which
 * programs call often.
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
  ['doctor', async () => (await import('./doctor/doctor.js')).doctor],
  ['serve', async () => (await import('./serve/serve.js')).serve],
  ['stdio', async () => (await import('./serve/stdio.js')).stdio],
  ['bridge', async () => (await import('./serve/bridge.js')).bridge],
  ['why', async () => (await import('./status/why.js')).why],
  ['status', async () => (await import('./status/status.js')).status],
  ['logs', async () => (await import('./status/logs.js')).logs],
])

/** Prints an error; the words that name a command select its help. */
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
