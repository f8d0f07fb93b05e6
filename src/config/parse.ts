import { dirname, resolve } from 'node:path'
import { createReport, type Report } from './file/problem.js'
import { readTree, syntaxValueOf } from './file/syntax.js'
import { bareRecord, createLocator, repeated, type TreeItem } from './file/tree.js'
import { readAuth } from './read/auth.js'
import { ONE_PRINCIPAL, readCluster } from './read/cluster.js'
import type { ReadContext } from './read/entry.js'
import { readEnvFile } from './read/env-file.js'
import { type Contents, serverMembersIn } from './read/find-servers.js'
import { readLock } from './read/lock.js'
import { checkUsers } from './read/oauth.js'
import { programFolder } from './read/program-folder.js'
import { readRules } from './read/rules.js'
import { readServer } from './read/server.js'
import { readSettings } from './read/settings.js'
import { SWITCH_KEYS, switchOf } from './schema/client-switches.js'
import type {
  AuthConfig,
  DisabledServer,
  Environment,
  ListenConfig,
  Loaded,
  ProxyConfig,
  ServerConfig,
  Variable,
  VariableSource,
  WaitingServer,
} from './types.js'

/**
 * Resolves the text of a configuration file. Never throws: an invalid server is left out, an invalid setting
 * falls back to its default, and both are reported in `problems`. An error in `auth`, `cluster`, `rules` or
 * `lock` makes the file unusable, because it could grant access or separate a replica from its cluster.
 *
 * Variables come from `env`, then `envFile`, then `later`, in order. With `later`, values may still come, so
 * a server that lacks some is waiting instead of invalid.
 */
export const parseConfig = (
  text: string,
  file: string,
  env: Environment,
  later?: readonly VariableSource[],
): Loaded => parse(text, file, { env, later, ignoresLockFile: false })

/** Resolves a configuration file without its lock file, which may be missing. */
export const parseWithoutLock = (text: string, file: string, env: Environment): Loaded =>
  parse(text, file, { env, later: undefined, ignoresLockFile: true })

interface Sources {
  readonly env: Environment
  readonly later: readonly VariableSource[] | undefined
  readonly ignoresLockFile: boolean
}

const parse = (text: string, file: string, { env, later, ignoresLockFile }: Sources): Loaded => {
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text
  const report = createReport(file, createLocator(body))
  const root = readTree(body, report)
  if (root !== undefined) warnRepeated(root, report)
  const own = { from: 'environment', values: env }
  const folder = dirname(resolve(file))
  const outer = {
    text: body,
    folder,
    programFolder: programFolder(folder, env),
    env: merged([own, ...(later ?? [])]),
    report,
    variables: [],
    files: new Set<string>(),
  }
  const contents = root === undefined ? undefined : serverMembersIn(root, outer)
  if (contents === undefined) return { config: undefined, problems: report.problems, disabled: [] }
  const fromFile = { from: 'envFile', values: readEnvFile(contents.settings.get('envFile'), outer) }
  const sources = [own, fromFile, ...(later ?? [])]
  const context: ReadContext = { ...outer, ignoresLockFile, env: merged(sources) }
  const { timeouts, ...settings } = readSettings(contents.settings, context)
  const { disabled, ...servers } = readServers(
    contents,
    { ...context, timeouts, proxy: settings.proxy },
    later !== undefined,
  )
  const guards = readGuards(contents.settings, context)
  if (guards.is === 'invalid')
    return withFiles({ config: undefined, problems: report.problems, disabled, auth: guards.access }, outer)
  const { access, cluster, callGuards } = guards
  const clusterItem = contents.settings.get('cluster')
  if (clusterItem !== undefined && access === undefined) report.nameWarning(clusterItem, ONE_PRINCIPAL)
  checkUsers(contents.servers, { config: servers.servers, auth: access }, report)
  const { problems } = report
  const variables = context.variables.map(found => ({ ...found, from: originOf(found, sources) }))
  const config = {
    ...{ ...servers, ...settings, cluster, variables },
    auth: access && served(access, settings.listen),
    ...callGuards,
  }
  return withFiles({ config, problems, disabled }, outer)
}

/** Reads the settings whose errors make the file unusable. */
const readGuards = (settings: Contents['settings'], context: ReadContext) => {
  const access = readAuth(settings, context)
  const cluster = readCluster(settings, context)
  const rules = readRules(settings, context)
  const lock = readLock(settings, context)
  if (access === 'invalid') return { is: 'invalid' } as const
  if (cluster === 'invalid' || rules === 'invalid' || lock === 'invalid')
    return { is: 'invalid', access } as const
  const callGuards = { ...(rules.length > 0 && { rules }), ...(lock && { lock }) }
  return { is: 'valid', access, cluster, callGuards } as const
}

/** Adds `listen.path` to a `publicUrl` without a path. */
const served = (auth: AuthConfig, { path }: ListenConfig): AuthConfig =>
  auth.publicUrl === undefined || path === undefined || new URL(auth.publicUrl).pathname !== '/'
    ? auth
    : { ...auth, publicUrl: auth.publicUrl + path }

const READ_FILES = new WeakMap<Loaded, readonly string[]>()

/** Records the files that were read, also for a file that cannot be used because of one of them. */
const withFiles = (loaded: Loaded, { files }: Pick<ReadContext, 'files'>): Loaded => {
  READ_FILES.set(loaded, [...files])
  return loaded
}

/**
 * Returns the absolute paths of the other files of a configuration: `envFile`, even if it is missing, and
 * each `${file:…}`.
 */
export const filesOf = (loaded: Loaded): readonly string[] => READ_FILES.get(loaded) ?? []

/** Merges sources; the first value of a variable wins. */
const merged = (sources: readonly VariableSource[]): Environment =>
  bareRecord(
    sources
      .toReversed()
      .flatMap(({ values }) => Object.entries(values).filter(([, value]) => value !== undefined)),
  )

const originOf = ({ name, value }: Omit<Variable, 'from'>, sources: readonly VariableSource[]): string => {
  if (name.startsWith('file:')) return 'file'
  const source = sources.find(({ values }) => Object.hasOwn(values, name) && values[name] !== undefined)
  if (source === undefined) return name === 'userHome' ? 'environment' : 'default'
  return source.values[name] === value ? source.from : 'default'
}

const warnRepeated = (root: TreeItem, report: Report): void => {
  for (const item of repeated(root)) {
    report.nameWarning(item, {
      message: 'this key is repeated, and the last one wins',
      fix: 'Keep one of them.',
    })
  }
}

const readServers = (
  { servers: items, settings }: Contents,
  context: ReadContext,
  mayWait: boolean,
): Pick<ProxyConfig, 'servers' | 'waiting'> & Pick<Loaded, 'disabled'> => {
  const servers: ServerConfig[] = []
  const waiting: WaitingServer[] = []
  const disabled: DisabledServer[] = []
  const prefixes = new Map<string, TreeItem>()
  const switches = Object.fromEntries(
    SWITCH_KEYS.flatMap(key => {
      const found = settings.get(key)
      return found === undefined ? [] : [[key, syntaxValueOf(found)] as const]
    }),
  )
  for (const [name, item] of items) {
    if (switchOf(switches, name) !== undefined) {
      disabled.push({ name, why: 'disabled' })
      continue
    }
    const read = readServer(name, item, mayWait ? { ...context, lacks: [] } : context)
    if (read.is === 'waiting') {
      waiting.push(read.server)
      continue
    }
    if (read.is !== 'ready') {
      disabled.push({ name, why: read.is })
      continue
    }
    // Without a prefix a server's URIs begin with its name.
    const prefix = read.config.prefix === false ? name : (read.config.prefix ?? name)
    const other = prefixes.get(prefix)
    if (other !== undefined) {
      context.report.nameError(read.members.get('prefix') ?? item, {
        message: `${other.key} has the same prefix`,
        fix: 'Give one of the two servers another "prefix".',
      })
      disabled.push({ name, why: 'invalid' })
      continue
    }
    prefixes.set(prefix, item)
    servers.push(read.config)
  }
  return { servers, waiting, disabled }
}
