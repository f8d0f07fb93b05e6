import { existsSync } from 'node:fs'
import { mkdir, readFile, rm } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { readTransportAddress } from '../../config/read/transport.js'
import type { ProxyConfig } from '../../config/types.js'
import { rowOf } from '../../diagnostics/causes.js'
import { cause } from '../../diagnostics/explain.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import { PROXY_FAILED, proxyRulesOf } from '../../kernel/machine/forward-proxy.js'
import { isCertificateCode } from '../../kernel/machine/tls-settings.js'
import type { Described } from '../../setup/add/server-json.js'
import { dependsOnFolder } from '../../setup/import/folder.js'
import type { ImportedEntry } from '../../setup/import/normalise.js'
import type { OwnFile } from '../../setup/own-file.js'
import { SetupError } from '../../setup/setup-error.js'
import type { ServerStatus } from '../../telemetry/status/status.js'
import { configTarget, loadFile } from '../shared/configuration.js'
import { askUser, isInteractive } from '../shared/output/ask.js'
import { count, oneLineText, print, printToStderr } from '../shared/output/output.js'
import { mark } from '../shared/output/terminal.js'
import { setupFiles } from '../shared/setup-files.js'
import {
  CliError,
  causeError,
  configOption,
  defineVerb,
  EXIT,
  jsonOption,
  textOption,
  textsOption,
  type VerbArguments,
} from '../shared/verb.js'
import { followedBy } from './followed.js'
import { openOwn } from './own-server.js'

const flags = {
  config: configOption,
  header: textsOption('For a URL: a header of every request, as "Name: value"; may be repeated'),
  env: textsOption('For a command: a variable of its environment, as KEY=VALUE; may be repeated'),
  as: textOption('For a server of the registry or a bundle: another name for it'),
  registry: textOption('The address of a registry other than registry.modelcontextprotocol.io'),
  secrets: {
    choices: ['env', 'keep'],
    default: 'env',
    requiresArg: true,
    describe: 'Move secrets into secrets.env next to the configuration, or keep them in the entry',
  },
  'no-check': { type: 'boolean', describe: 'Write it without starting it first' },
  json: jsonOption,
} as const

const positionals = {
  name: { type: 'string', demandOption: true, describe: 'A name; or REGISTRY/NAME, or a FILE.mcpb' },
  url: { type: 'string', describe: 'The address of a remote server' },
} as const

type Args = VerbArguments<typeof flags, typeof positionals>

/** A server to add. */
interface Wanted extends Described {
  readonly name: string
  /** Required step before its first start. */
  readonly prepare?: () => Promise<void>
}

export const add = defineVerb({
  usage: 'add <name> [url]',
  needs: 'the name of a server',
  takesCommand: true,
  synopsis:
    '$0 add [options] NAME -- COMMAND [ARG…]\n$0 add [options] NAME URL\n$0 add [options] REGISTRY/NAME\n' +
    '$0 add [options] FILE.mcpb\n\nAdd a server to the configuration, after starting it once.',
  describe: 'Add a server: a command after --, a URL, a server of the registry, or a bundle (.mcpb)',
  flags,
  positionals,
  examples: [
    ['mcp-proxy add memory -- npx -y @modelcontextprotocol/server-memory', 'A command'],
    ['mcp-proxy add notes https://example.com/mcp --header "Authorization: Bearer x"', 'A URL'],
    ['mcp-proxy add io.github.user/weather', 'A server of the registry, with its version pinned'],
  ],
  async run(args, command) {
    const { own } = await openOwn(args.config)
    const wanted = await describe(args, command)
    const { name } = wanted
    refuseKnown(own, name)
    const { SecretNames } = await import('../../setup/import/secrets.js')
    const given = await answered(wanted, variable => new SecretNames(own.variables).valueOf(variable))
    await wanted.prepare?.()
    const tools =
      args.noCheck === true ? undefined : await inFolder(own.programFolder, () => checked(own, wanted, given))
    const secrets = await written(args, wanted, given)
    const file = own.file.state.path
    if (args.json === true) print(JSON.stringify({ version: 1, file, name, tools, secrets }))
    else if (tools !== undefined && tools.length > 0) print(tools.join('\n'))
    printToStderr(
      `${mark(true)} ${name}${tools === undefined ? '' : `: ${count(tools.length, 'tool')}`}, written to ${file}`,
    )
    for (const variable of secrets) printToStderr(`${variable} is in ${own.secrets.path}`)
    return await followedBy(file)
  },
})

/** Throws a CliError if the name is taken. */
const refuseKnown = ({ servers, file }: OwnFile, name: string): void => {
  if (!servers.has(name)) return
  throw causeError(EXIT.usage, cause('cli.server-exists', { file: file.state.path, server: name }))
}

const ATTEMPTS = 5

/**
 * Adds a server to the current file, which may have changed while the server was tested. Resolves with the
 * names of the added variables. Rejects with a CliError if the name is taken by now.
 */
const written = async (
  args: Args,
  { name, entry }: Wanted,
  given: ReadonlyMap<string, string>,
): Promise<readonly string[]> => {
  const [{ replaceSecrets, SecretNames }, { writeOwnFile }, { ConflictError }] = await Promise.all([
    import('../../setup/import/secrets.js'),
    import('../../setup/own-file.js'),
    import('../../setup/files/revise.js'),
  ])
  for (let attempt = 1; ; attempt += 1) {
    const { own, files } = await openOwn(args.config)
    refuseKnown(own, name)
    const names = new SecretNames(own.variables, own.env)
    for (const [variable, value] of given) names.keep(variable, value)
    const take = (variable: string, value: string): string => `\${${names.put(name, variable, value, entry)}}`
    const value = args.secrets === 'keep' ? entry : replaceSecrets(entry, take, () => true)
    try {
      await writeOwnFile(files, own, [{ at: [], name, value }], names.added)
      return [...names.added.keys()]
    } catch (thrown) {
      if (!(thrown instanceof ConflictError) || attempt === ATTEMPTS) throw thrown
    }
  }
}

/** Builds the server that the command line describes. Throws a CliError for contradictory arguments. */
const describe = async (args: Args, command: readonly string[] | undefined): Promise<Wanted> => {
  const { name, url, header, env } = args
  if (command !== undefined) {
    if (url !== undefined)
      throw new CliError(EXIT.usage, 'a URL and a command are two servers: give one of them')
    if (header !== undefined) throw new CliError(EXIT.usage, '--header is for a URL; a command gets --env')
    return { name, entry: commandEntry(command, env), inputs: [] }
  }
  if (env !== undefined) throw new CliError(EXIT.usage, '--env is for a command; a URL gets --header')
  if (url !== undefined) return { name, entry: urlEntry(url, header), inputs: [] }
  if (header !== undefined) throw new CliError(EXIT.usage, '--header is for a URL')
  if (/\.mcpb$/i.test(name)) return await bundled(name, args.as)
  if (name.includes('/')) return await registered(args)
  throw new CliError(EXIT.usage, `what is "${name}"? Write its command after --, or its URL after the name`)
}

const commandEntry = (
  [command = '', ...args]: readonly string[],
  pairs: readonly string[] = [],
): ImportedEntry => {
  if (command === '') throw new CliError(EXIT.usage, 'which command? Write it after --')
  const env = pairs.map((pair): [string, string] => {
    const at = pair.indexOf('=')
    if (at < 1) throw new CliError(EXIT.usage, '--env needs KEY=VALUE')
    return [pair.slice(0, at), pair.slice(at + 1)]
  })
  const entry = {
    command,
    ...(args.length === 0 ? {} : { args }),
    ...(env.length === 0 ? {} : { env: Object.fromEntries(env) }),
  }
  // Paths were typed in the current folder, but our programs run in another one.
  const isHere = [command, ...args].some(word => !isAbsolute(word) && /[/\\.]/.test(word) && existsSync(word))
  return isHere || dependsOnFolder(entry) ? { ...entry, cwd: process.cwd() } : entry
}

const urlEntry = (url: string, lines: readonly string[] = []): ImportedEntry => {
  const address = readTransportAddress(url, undefined)
  if (address.is === 'wrong') throw new CliError(EXIT.usage, `invalid URL: ${address.words.fix}`)
  const headers = lines.map((line): [string, string] => {
    const [, name, value] = /^([^\s:]+):\s*(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined)
      throw new CliError(EXIT.usage, '--header needs "Name: value"')
    return [name, value]
  })
  return { url, ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }) }
}

/** Returns the forward proxies of a configuration; the ones of the environment if it is unusable. */
const forwardProxies = async (config: string | undefined): Promise<ProxyConfig['proxy']> => {
  const loaded = await loadFile(configTarget(config))
  return loaded.config === undefined ? proxyRulesOf(process.env) : loaded.config.proxy
}

const registered = async ({ name, registry: given, as, config }: Args): Promise<Wanted> => {
  const [{ fetchServerJson, REGISTRY, registryShortName }, { describeServerJson }, { createGuardedFetch }] =
    await Promise.all([
      import('../../setup/add/registry.js'),
      import('../../setup/add/server-json.js'),
      import('../../transport/http/guarded-fetch.js'),
    ])
  const registry = given ?? REGISTRY
  const address = URL.canParse(registry) ? new URL(registry) : undefined
  // `fetch` accepts no credentials in a URL.
  if (address === undefined || address.username + address.password !== '')
    throw new CliError(
      EXIT.usage,
      '--registry needs a URL without credentials, such as https://registry.example.com',
    )
  const proxy = await forwardProxies(config)
  const fetch = createGuardedFetch({ trusted: [registry], allowHttp: true, proxy: () => proxy })
  const answer = await fetchServerJson(name, registry, fetch).catch((thrown: unknown) => {
    throw thrown instanceof SetupError ? thrown : unreached(thrown, registry, registryShortName(name))
  })
  const described = describeServerJson(answer)
  if (described === undefined) {
    throw new CliError(EXIT.failure, `${name} does not offer a usable package or address`)
  }
  return { name: as ?? registryShortName(name), ...inHome(described) }
}

/** Explains why the registry cannot be reached. */
const unreached = (thrown: unknown, registry: string, short: string): CliError => {
  const fault = thrown instanceof Fault ? thrown : undefined
  const why = fault?.message ?? 'no answer in time'
  const facts = { registry, short, why }
  if (fault?.data?.['reason'] === PROXY_FAILED)
    return causeError(EXIT.failure, cause('cli.registry-proxy', facts))
  const code = systemCode(fault?.cause) ?? ''
  return causeError(
    EXIT.failure,
    isCertificateCode(code)
      ? cause('cli.registry-certificate', { ...facts, code })
      : cause('cli.registry', facts),
  )
}

const bundled = async (file: string, name: string | undefined): Promise<Wanted> => {
  const [{ readBundle }, { state }] = await Promise.all([import('../../setup/add/bundle.js'), setupFiles()])
  const bytes = await readFile(file).catch(() => {
    throw new CliError(EXIT.failure, `${file} cannot be read`)
  })
  const { unpack, ...bundle } = readBundle(file, bytes, join(state, 'bundles'))
  return { ...inHome(bundle), name: name ?? bundle.name, prepare: unpack }
}

/** Sets the home folder for programs that do not depend on a folder. */
const inHome = <T extends Described>(described: T): T => {
  const { entry } = described
  return 'command' in entry && !('cwd' in entry) ? { ...described, entry: { ...entry, cwd: '~' } } : described
}

/** Asks for the values that the server requires. Throws a CliError without a terminal. */
const answered = async (
  { inputs, name }: Wanted,
  known: (variable: string) => string | undefined,
): Promise<ReadonlyMap<string, string>> => {
  const missing = inputs.filter(variable => (known(variable) ?? process.env[variable]) === undefined)
  if (missing.length > 0 && !isInteractive()) {
    throw new CliError(EXIT.usage, `${name} needs ${missing.join(', ')}: set them, or run this on a terminal`)
  }
  const values = new Map<string, string>()
  for (const variable of missing) values.set(variable, await askUser(`${variable} for ${name}: `, true))
  return values
}

/** Creates the server's folder for `work`, and removes it again if `work` fails. */
const inFolder = async <T>(folder: string, work: () => Promise<T>): Promise<T> => {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  try {
    return await work()
  } catch (thrown) {
    if (first !== undefined) await rm(first, { recursive: true })
    throw thrown
  }
}

/** Starts the server once. Resolves with its tool names; rejects with a CliError if it does not start. */
const checked = async (
  own: OwnFile,
  { name, entry }: Wanted,
  given: ReadonlyMap<string, string>,
): Promise<string[]> => {
  const [{ parseConfig }, { callerHere, inProcess }, { addSecrets }, { secretsOf }, { memberOf, stringOf }] =
    await Promise.all([
      import('../../config/parse.js'),
      import('../shared/in-process.js'),
      import('../../kernel/secrets/mask.js'),
      import('../../config/read/secrets.js'),
      import('../../kernel/json/text.js'),
    ])
  const tried = { ...entry, prefix: false }
  const text = JSON.stringify({ mcpServers: { [name]: tried } })
  const env = { ...process.env, ...Object.fromEntries(given) }
  const { config, problems } = parseConfig(text, own.file.state.path, env)
  const [problem] = problems.filter(({ severity }) => severity === 'error')
  if (config === undefined || problem !== undefined) {
    throw new CliError(EXIT.configuration, `${name} would not work: ${problem?.message}. ${problem?.fix}`)
  }
  addSecrets(secretsOf(config))
  let tools: string[] | undefined
  let status: ServerStatus | undefined
  const options = { level: 'silent', isRemembered: true, caller: callerHere() } as const
  const code = await inProcess(config, options, async session => {
    status = session.status()[0]
    if (status?.state === 'ready') {
      tools = (await session.client.list('tools')).map(tool => stringOf(memberOf(tool, 'name')) ?? '')
    }
    return { code: EXIT.ok, show: () => undefined }
  })
  if (code !== EXIT.ok) throw new CliError(code, 'stopped; nothing was written')
  if (tools !== undefined || status === undefined) return tools ?? []
  throw await notStarted(status, config)
}

/** Cases for a server that is not in the configuration: `daemon logs` and `auth login` do not know it. */
const AS_NEW: Readonly<Partial<Record<string, 'D031.new' | 'D036.new'>>> = {
  D031: 'D031.new',
  D036: 'D036.new',
}

const notStarted = async (status: ServerStatus, { servers }: ProxyConfig): Promise<CliError> => {
  const [{ troubleOf }, { mask }] = await Promise.all([
    import('./first-start.js'),
    import('../../kernel/secrets/mask.js'),
  ])
  const { code, id, message, why, fix } = troubleOf(status, servers[0])
  const what = mask(`${id}: ${message}${why === undefined ? '' : `: ${oneLineText(why)}`}`)
  const still = 'nothing was written: it did not start; --no-check writes it anyway'
  const asNew = AS_NEW[code]
  return new CliError(EXIT.failure, what, { why: still, fix: asNew === undefined ? fix : rowOf(asNew).fix })
}
