import { readFile } from 'node:fs/promises'
import { platform } from 'node:process'
import type { StartProblem } from '../../app/start-problems.js'
import { DEFAULTS } from '../../config/defaults.js'
import { placeIn } from '../../config/file/place.js'
import { formatProblem } from '../../config/file/problem.js'
import { redactServer, secretsOf } from '../../config/read/secrets.js'
import type {
  AuthConfig,
  DisabledServer,
  ListenConfig,
  Loaded,
  Problem,
  ProxyConfig,
  ServerConfig,
  ServerTransport,
} from '../../config/types.js'
import type { Finding } from '../../doctor/finding.js'
import { isLoopbackHost, isUnencrypted } from '../../kernel/loopback.js'
import { addSecrets, mask } from '../../kernel/secrets/mask.js'
import { configFile, loadFile } from '../shared/configuration.js'
import { resolveListen } from '../shared/listening.js'
import { count, print, printText, printToStderr } from '../shared/output/output.js'
import { stdoutLayout, tableText } from '../shared/output/table.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption } from '../shared/verb.js'

const HEADINGS = ['NAME', 'TRANSPORT', 'PREFIX', 'SHARING', 'COMMAND OR URL']
/** Columns omitted if every server has the defaults. */
const [PREFIX, SHARING] = [2, 3] as const

export const check = defineVerb({
  usage: 'check',
  describe: 'Find problems in a configuration and print the fix for each; starts nothing without --locked',
  flags: {
    config: configOption,
    locked: {
      type: 'boolean',
      describe: 'Start the servers and compare them with the lock file instead; code 1 if they differ',
    },
    json: jsonOption,
  },
  examples: [
    ['mcp-proxy check --config mcp.json', 'Problems in the file, and the servers it configures'],
    ['mcp-proxy check', 'The default configuration'],
    ['mcp-proxy check && mcp-proxy daemon restart', 'Restart only with a valid configuration'],
    ['mcp-proxy check --locked', 'Tools, prompts and instructions that differ from the lock file'],
  ],
  async run(args) {
    if (args.locked === true) {
      const { checkLocked } = await import('./check-locked.js')
      return await checkLocked(args.config, args.json === true)
    }
    const file = configFile(args.config)
    const loaded = await withStartProblems(file, await loadFile(file))
    if (loaded.config !== undefined) addSecrets(secretsOf(loaded.config))
    const checks = await findings(args.config)
    const errors = loaded.problems.filter(({ severity }) => severity === 'error').length
    if (args.json === true) print(documentOf(loaded, checks, errors))
    else await printLoaded(loaded, checks, errors)
    if (loaded.isUnreadable === true) return EXIT.configuration
    return errors > 0 ? EXIT.negative : EXIT.ok
  },
})

/** Adds the reasons why `serve` would reject a valid file. */
const withStartProblems = async (file: string, loaded: Loaded): Promise<Loaded> => {
  const { config, problems } = loaded
  if (config === undefined) return loaded
  const { startProblems } = await import('../../app/start-problems.js')
  const found = [...refusedListen(config), ...(await startProblems(config))]
  if (found.length === 0) return loaded
  const text = await readFile(file, 'utf8')
  const added = found.map(({ path, ...words }): Problem => {
    const { line = 0, column = 0 } = placeIn(text, path) ?? {}
    return { severity: 'error', file, line, column, key: path.join('.'), ...words }
  })
  return { ...loaded, problems: [...problems, ...added] }
}

/** Returns a problem for an address that `serve` refuses without flags. */
const refusedListen = ({ auth, listen }: ProxyConfig): readonly StartProblem[] => {
  try {
    resolveListen(listen, {}, auth)
    return []
  } catch (thrown) {
    if (!(thrown instanceof CliError) || thrown.address === undefined) throw thrown
    const { message, fix } = thrown.address
    const sentence = `${fix.slice(0, 1).toUpperCase()}${fix.slice(1)}.`
    return [{ path: ['listen', 'host'], message, fix: sentence }]
  }
}

const documentOf = (
  { config, problems, disabled }: Loaded,
  checks: readonly Finding[],
  errors: number,
): string => {
  const servers = config?.servers.map(({ name }) => name) ?? []
  const found = checks.map(({ id, level, subject, message, fix }) => ({ id, level, subject, message, fix }))
  const numbered = problems.map(({ id = 'D011', ...rest }) => ({ id, ...rest }))
  const environment = Object.fromEntries(environmentsOf(config))
  const value = {
    ...{ version: 1, ok: errors === 0, servers, disabled },
    ...(Object.keys(environment).length > 0 && { environment }),
    ...{ problems: numbered, checks: found },
  }
  return mask(JSON.stringify(value, null, 2))
}

const printLoaded = async (
  { config, problems, disabled }: Loaded,
  checks: readonly Finding[],
  errors: number,
): Promise<void> => {
  const { prefixOf } = await import('../../app/server-registry.js')
  for (const problem of problems) printText(formatProblem(problem))
  const servers = config?.servers ?? []
  const rows = [...servers.map(server => rowOf(server, prefixOf(server))), ...disabled.map(rowOfDisabled)]
  const isPlain = servers.every(isUsual)
  const kept = (row: readonly string[]): readonly string[] =>
    isPlain ? row.filter((_, column) => column !== PREFIX && column !== SHARING) : row
  if (rows.length > 0) print(mask(tableText(kept(HEADINGS), rows.map(kept), stdoutLayout())))
  for (const [name, environment] of environmentsOf(config)) print(mask(environmentText(name, environment)))
  if (config?.auth !== undefined) await printAuth(config.auth, config)
  const words = { error: 'error', warn: 'warning', note: 'note' }
  for (const { id, level, message, fix } of checks)
    printText(mask(`${words[level]}  ${id}: ${message}; ${fix}`))
  if (platform === 'win32') printToStderr(WINDOWS_RIGHTS)
  const warnings = problems.length - errors + checks.filter(({ level }) => level === 'warn').length
  printToStderr(
    `${count(servers.length, 'server')}, ${count(errors, 'error')}, ${count(warnings, 'warning')}`,
  )
}

/** Windows only; on other systems, files with secrets have mode 0600. */
const WINDOWS_RIGHTS =
  'On Windows, files have the rights of their folder: keep those with secrets in your profile'

/** Findings of `doctor` beyond problems in the file itself. */
const FURTHER = ['D012', 'D013', 'D014', 'D015', 'D016', 'D017', 'D018', 'D059']

const findings = async (config: string | undefined): Promise<readonly Finding[]> => {
  const [{ examine, gatherOnce, worstFirst }, { sourcesOf }] = await Promise.all([
    import('../../doctor/examine.js'),
    import('./sources.js'),
  ])
  const sources = sourcesOf({ config, server: undefined, isOffline: true, timeoutMs: 0 })
  const options = { only: FURTHER, server: undefined, isOffline: true }
  return worstFirst(await examine(gatherOnce(sources), options))
}

const isUsual = ({ prefix, transport, sharing }: ServerConfig): boolean =>
  prefix === undefined && sharing === DEFAULTS.sharing[transport.kind === 'stdio' ? 'stdio' : 'url']

const rowOf = (server: ServerConfig, prefix: string | undefined): string[] => {
  const { name, transport, sharing } = redactServer(server)
  return [name, transport.kind, prefix ?? '(none)', sharing, reachOf(transport)]
}

const reachOf = (transport: ServerTransport): string => {
  if (transport.kind === 'stdio') return [transport.command, ...transport.args].join(' ')
  return transport.kind === 'socket' ? transport.path : transport.url
}

/** The sources of a server's variables besides `env`. */
interface ProgramEnvironment {
  readonly envFile?: string
  /** The names in that file. */
  readonly variables?: readonly string[]
  readonly inheritEnv?: boolean
}

const environmentsOf = (
  config: ProxyConfig | undefined,
): readonly (readonly [server: string, environment: ProgramEnvironment])[] =>
  (config?.servers ?? []).flatMap(({ name, transport, written }) => {
    const { envFile } = written ?? {}
    const inheritEnv = transport.kind === 'stdio' ? transport.inheritEnv : undefined
    if (envFile === undefined && inheritEnv === undefined) return []
    const file = envFile && { envFile: envFile.path, variables: envFile.names }
    return [[name, { ...file, ...(inheritEnv && { inheritEnv }) }] as const]
  })

const environmentText = (
  server: string,
  { envFile, variables = [], inheritEnv }: ProgramEnvironment,
): string =>
  [
    ...(envFile === undefined
      ? []
      : [`${server} reads ${envFile}: ${variables.join(', ') || 'no variables'}`]),
    ...(inheritEnv === true ? [`${server} inherits the whole environment of the proxy`] : []),
  ].join('\n')

const rowOfDisabled = ({ name, why }: DisabledServer): string[] => [name, `(${why})`, '', '', '']

const printAuth = async (
  auth: AuthConfig,
  { listen, proxy }: Pick<ProxyConfig, 'listen' | 'proxy'>,
): Promise<void> => {
  print(mask(acceptedText(auth, listen)))
  const { embedded, publicUrl } = auth
  if (embedded?.login === undefined) return
  const { checkLogin } = await import('../../auth/authorization-server/server.js')
  // It holds no secret, and masking would hide the text after "login:".
  print(await checkLogin(embedded.login, publicUrl, proxy))
}

/** Lists the accepted credentials over HTTP, one line per source of tokens. */
const acceptedText = (auth: AuthConfig, { host }: ListenConfig): string => {
  const { publicUrl, loopback, baseScope, people, issuers, embedded } = auth
  const isPlain = publicUrl === undefined ? !isLoopbackHost(host) : isUnencrypted(publicUrl)
  return [
    `auth at ${publicUrl ?? 'the address that is listened on'}; every token needs the scope ${baseScope}`,
    ...(isPlain ? ['  tokens travel unencrypted: put TLS in front and set auth.publicUrl'] : []),
    ...(loopback === 'open' ? ['  programs on this machine need no token'] : []),
    ...people.flatMap(({ name, tokens, scopes = [baseScope] }) =>
      tokens.map(
        token => `  ${name}, ${token.name} (${endOf(token.expiresMs)}): ${scopes.join(' ') || 'no scopes'}`,
      ),
    ),
    ...issuers.map(({ issuer, introspection }) => {
      const how = introspection === undefined ? 'signed tokens' : 'signed tokens, and others that it confirms'
      return `  ${issuer}: ${how}`
    }),
    ...(embedded === undefined ? [] : ['  tokens of its own authorization server']),
  ].join('\n')
}

const endOf = (ms: number): string => {
  if (!Number.isFinite(ms)) return 'no end'
  return `${ms <= Date.now() ? 'ended' : 'ends'} ${new Date(ms).toISOString()}`
}
