import type { LockConfig, ProxyConfig, ServerConfig } from '../../config/types.js'
import type { Difference, SentServer } from '../../kernel/definitions.js'
import { matcherOf } from '../../kernel/globs.js'
import { count, oneLineText, print, printToStderr } from '../shared/output/output.js'
import { CliError, EXIT } from '../shared/verb.js'

/** A configuration with a lock file, and its locked servers. */
export interface LockTarget {
  readonly config: ProxyConfig
  readonly lock: LockConfig
  readonly servers: readonly ServerConfig[]
}

/** Returns the lock file of a configuration. Throws a CliError without one. */
export const lockTarget = (config: ProxyConfig, file: string): LockTarget => {
  const { lock } = config
  if (lock === undefined)
    throw new CliError(EXIT.configuration, `${file} has no "lock"`, {
      fix: 'add "lock": "mcp.lock.json"',
    })
  const isLocked = matcherOf(lock.servers)
  return { config, lock, servers: config.servers.filter(({ name }) => isLocked(name)) }
}

/** Starts servers and reads their definitions. Throws a CliError if one of them cannot be reached. */
export const readSent = async (
  config: ProxyConfig,
  servers: readonly ServerConfig[],
): Promise<ReadonlyMap<string, SentServer>> => {
  const [{ readDefinitions }, { callerHere }, { addSecrets, mask }, { secretsOf }] = await Promise.all([
    import('../../app/definitions.js'),
    import('../shared/in-process.js'),
    import('../../kernel/secrets/mask.js'),
    import('../../config/read/secrets.js'),
  ])
  addSecrets(secretsOf(config))
  const read = await readDefinitions(config, servers, callerHere())
  const unreached = [...read].flatMap(([name, found]) => ('why' in found ? [`${name}: ${found.why}`] : []))
  if (unreached.length > 0)
    throw new CliError(EXIT.failure, 'a server cannot be reached, and nothing was compared or written', {
      why: mask(oneLineText(unreached.join('; '))),
      fix: 'mcp-proxy doctor',
    })
  return new Map([...read].flatMap(([name, found]) => ('why' in found ? [] : [[name, found] as const])))
}

/** Prints differences, one in a line, with their fields. */
export const printDifferences = async (differences: readonly Difference[]): Promise<void> => {
  const { shownDifference } = await import('../../kernel/definitions.js')
  for (const { server, kind, name, change, fields } of differences.map(shownDifference)) {
    print(`${change} ${kind} ${[server, name].filter(Boolean).join('/')}`)
    for (const { path, was, is } of fields) {
      print(`  ${path || '/'}`)
      if (was !== undefined) print(`    - ${was}`)
      if (is !== undefined) print(`    + ${is}`)
    }
  }
  const found = differences.length === 0 ? 'no differences' : count(differences.length, 'difference')
  printToStderr(`${found} from the lock file`)
}
