import type { LockedServer } from '../../kernel/lock-file.js'
import { configFile } from '../shared/configuration.js'
import { print, printToStderr } from '../shared/output/output.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption, textsOption } from '../shared/verb.js'
import { type LockTarget, lockTarget, printDifferences, readSent } from './locked.js'

export const lock = defineVerb({
  usage: 'lock',
  describe: 'Start the servers and write their definitions to the lock file, for review',
  flags: {
    config: configOption,
    server: textsOption('Lock only this server again; may be repeated'),
    accept: textsOption('Lock only this item again, as SERVER/NAME; may be repeated'),
    json: jsonOption,
  },
  examples: [
    ['mcp-proxy lock --config mcp.json', 'All servers that "lock" names'],
    ['mcp-proxy lock --server shop', 'One server; the others stay as they are'],
    ['mcp-proxy lock --accept shop/refund', 'One tool, after a review of its changes'],
  ],
  async run({ config, server: names = [], accept = [], json = false }) {
    const file = configFile(config)
    const { disabled, ...target } = await usableTarget(file)
    const parts = partsOf(target, names, accept)
    const before = await lockedBefore(target, parts !== undefined)
    const servers =
      parts === undefined ? target.servers : target.servers.filter(({ name }) => parts.has(name))
    const sent = await readSent(target.config, servers)
    const { INSTRUCTIONS, LockedPart, shownDifference } = await import('../../kernel/definitions.js')
    const after = new Map([...before].filter(([name]) => parts !== undefined || disabled.has(name)))
    const differences = [...sent].flatMap(([name, found]) => {
      const part = new LockedPart(name, before.get(name), target.lock.ignore)
      const accepted = parts?.get(name)
      const now = part.next(found, accepted)
      after.set(name, now)
      const known = new Set([INSTRUCTIONS, ...[part.locked, now].flatMap(namesIn)])
      const unknown = [...(accepted ?? [])].find(item => !known.has(item))
      if (unknown !== undefined) throw notLocked(`${name}/${unknown}`)
      return part.all(found).filter(each => accepted?.has(each.name || INSTRUCTIONS) !== false)
    })
    await writeLockFile(target.lock.file, after)
    if (json) {
      const { file: path } = target.lock
      print(
        JSON.stringify({ version: 1, file: path, differences: differences.map(shownDifference) }, null, 2),
      )
    } else {
      await printDifferences(differences)
      printToStderr(`wrote ${target.lock.file}`)
    }
    return EXIT.ok
  },
})

const namesIn = ({ tools, prompts, templates }: LockedServer): readonly string[] =>
  [tools, prompts, templates].flatMap(items => [...items.keys()])

/** Reads a configuration without its lock file, which may be missing. Throws a CliError with any error. */
const usableTarget = async (
  file: string,
): Promise<LockTarget & { readonly disabled: ReadonlySet<string> }> => {
  const [{ formatProblem }, { loadConfig }, { parseWithoutLock }] = await Promise.all([
    import('../../config/file/problem.js'),
    import('../../config/load.js'),
    import('../../config/parse.js'),
  ])
  const { config, problems, disabled } = await loadConfig(file, process.env, parseWithoutLock)
  for (const problem of problems) printToStderr(formatProblem(problem))
  // The file would lack a server that is left out because of an error.
  if (config === undefined || disabled.some(({ why }) => why === 'invalid'))
    throw new CliError(EXIT.configuration, `${file} has errors, and nothing was written`, {
      fix: 'mcp-proxy check',
    })
  // Servers that are disabled cannot be started, and keep their definitions.
  return { ...lockTarget(config, file), disabled: new Set(disabled.map(({ name }) => name)) }
}

/**
 * Returns the servers to lock, each with its accepted items; without items, all of the server is locked.
 * Undefined without options.
 */
const partsOf = (
  { servers }: LockTarget,
  names: readonly string[],
  accept: readonly string[],
): ReadonlyMap<string, ReadonlySet<string> | undefined> | undefined => {
  if (names.length === 0 && accept.length === 0) return undefined
  const known = servers.map(({ name }) => name)
  const unknown = names.find(name => !known.includes(name))
  if (unknown !== undefined) throw notLocked(unknown)
  const parts = new Map<string, Set<string> | undefined>()
  for (const item of accept) {
    const [server] = known.filter(name => item.startsWith(`${name}/`)).sort((a, b) => b.length - a.length)
    if (server === undefined) throw notLocked(item)
    const items = parts.get(server) ?? new Set()
    parts.set(server, items.add(item.slice(server.length + 1)))
  }
  for (const name of names) parts.set(name, undefined)
  return parts
}

const notLocked = (what: string): CliError =>
  new CliError(EXIT.configuration, `${what} is not a locked server or an item of one`, {
    fix: 'check the names in "mcpServers" and "lock.servers"; write items as SERVER/NAME',
  })

/**
 * Returns the content of the lock file; empty without one. Throws a CliError if its other parts would be
 * lost.
 */
const lockedBefore = async (
  { lock: { file } }: LockTarget,
  isPartial: boolean,
): Promise<ReadonlyMap<string, LockedServer>> => {
  const [{ readSmallFile }, { LOCK_FILE_BYTES, parseLockFile }] = await Promise.all([
    import('../../config/file/small-file.js'),
    import('../../kernel/lock-file.js'),
  ])
  const found = readSmallFile(file, LOCK_FILE_BYTES)
  if ('wrong' in found && found.isMissing) return new Map()
  const locked = 'wrong' in found ? { why: `it ${found.wrong}` } : parseLockFile(found.text)
  if (!('why' in locked)) return locked
  if (!isPartial) return new Map()
  throw new CliError(EXIT.configuration, `the lock file ${file} cannot be used`, {
    why: locked.why,
    fix: 'restore it, or write all of it with mcp-proxy lock',
  })
}

const READABLE = 0o644

const writeLockFile = async (file: string, servers: ReadonlyMap<string, LockedServer>): Promise<void> => {
  const [{ readState, replaceFile }, { systemDisk }, { LOCK_FILE_BYTES, lockFileText, parseLockFile }] =
    await Promise.all([
      import('../../setup/files/revise.js'),
      import('../../setup/files/disk.js'),
      import('../../kernel/lock-file.js'),
    ])
  const text = lockFileText(servers)
  const bytes = Buffer.from(text)
  const isLong = bytes.length > LOCK_FILE_BYTES
  if (isLong || 'why' in parseLockFile(text))
    throw new CliError(
      EXIT.failure,
      `the definitions ${isLong ? 'exceed 16 MiB' : 'have too many values'}, and nothing was written`,
      { fix: 'lock fewer servers with "lock.servers"' },
    )
  const state = await readState(systemDisk, file)
  // Unlike the other files that commands write, this one is for the team.
  const mode = state.bytes === undefined ? READABLE : state.mode
  await replaceFile({ disk: systemDisk, backups: undefined }, { ...state, mode }, bytes)
}
