import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Fault } from '../kernel/faults.js'
import { hasCurrentFolder, NO_FOLDER } from '../kernel/machine/current-folder.js'
import { homeFolder } from '../kernel/machine/who-am-i.js'
import { isObject } from '../kernel/object.js'
import { unblock } from '../transport/node-internals.js'
import { readArguments, type ShimArguments } from './arguments.js'
import { Connector, type DaemonProblem, NoDaemon } from './connector.js'
import { defaultConfigFile } from './default-config-file.js'
import type { Hello } from './hello.js'
import { placeId, placeOf, thisMachine } from './place.js'
import { ShimSession } from './session.js'

/** Exit codes of the command line. */
const EXIT = { ok: 0, usage: 2, configuration: 3, failure: 4 } as const
const SIGNAL_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/** Maximum time of the first connection: some clients wait at most ten seconds for a server. */
const START_MS = 6000

/** Runs `mcp-proxy connect`; `folder` is the package folder. Resolves with the exit code. */
export const main = async (words: readonly string[], folder: string): Promise<number> => {
  if (!hasCurrentFolder()) {
    tell(NO_FOLDER.message, NO_FOLDER)
    return EXIT.failure
  }
  let given: ShimArguments
  try {
    given = readArguments(words)
  } catch (thrown) {
    tell(thrown instanceof Error ? thrown.message : String(thrown), {
      why: 'invalid arguments; nothing was changed',
      fix: 'mcp-proxy connect --help',
    })
    return EXIT.usage
  }
  const { env, platform } = process
  const named = given.config ?? env['MCP_PROXY_CONFIG']
  const config = resolve(named || defaultConfigFile({ platform, home: homeFolder(), env }))
  if (!existsSync(config)) {
    tell(`D010: there is no configuration file ${config}`, {
      why: 'the file does not exist',
      fix: 'mcp-proxy init',
    })
    return EXIT.configuration
  }
  return await connect(config, given, folder)
}

const connect = async (config: string, given: ShimArguments, folder: string): Promise<number> => {
  const script = join(folder, 'bin', 'mcp-proxy.js')
  try {
    const connector = createConnector(config, given, { folder, script })
    const connection = await connector.connect(START_MS)
    if (given.verbose === true) tell(`served by the daemon, pid ${connection.welcome.pid}`)
    const session = new ShimSession({
      input: process.stdin,
      output: clientOutput(),
      connect: limitMs => connector.connect(limitMs),
      tell,
    })
    endOnSignals(() => session.destroy())
    await session.serve(connection)
    return EXIT.ok
  } catch (thrown) {
    return await withoutDaemon(thrown, config, { given, script })
  }
}

const createConnector = (
  config: string,
  given: ShimArguments,
  { folder, script }: { readonly folder: string; readonly script: string },
): Connector => {
  const { env, pid, execPath } = process
  const machine = thisMachine()
  const place = placeOf(placeId(config, machine.at), env, machine)
  const hello: Hello = {
    version: versionIn(folder),
    pid,
    cwd: process.cwd(),
    client: given.client,
    view: given.view,
    workspace: workspaceIn(given.workspace),
    project: env['CLAUDE_PROJECT_DIR'],
  }
  return new Connector({ place, hello, tell, program: { execPath, script, config, env, home: machine.home } })
}

/** Ignores a variable that the client did not expand. */
const workspaceIn = (given: string | undefined): string | undefined =>
  given === undefined || given.includes('${') ? undefined : resolve(given)

/** Reads the version at run time: after an update, it differs from the running daemon's. */
const versionIn = (folder: string): string => {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return isObject(manifest) && typeof manifest['version'] === 'string' ? manifest['version'] : '0'
}

/** Serves the client in this process, if allowed. */
const withoutDaemon = async (
  thrown: unknown,
  config: string,
  { given, script }: { readonly given: ShimArguments; readonly script: string },
): Promise<number> => {
  const code = thrown instanceof NoDaemon ? thrown.code : 'D041'
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  const isRefused = thrown instanceof Fault
  if (isRefused || given['no-fallback'] === true) {
    tell(isRefused ? message : `${code}: ${message}`, isRefused ? REFUSED : { why: WHYS[code], fix: FIX })
    return EXIT.failure
  }
  tell(`${code}: ${message}; serving in this process, with servers of its own`)
  const main = pathToFileURL(join(script, '..', '..', 'dist', 'cli', 'main.cjs')).href
  const { main: run } = (await import(main)) as { main: (argv: readonly string[]) => Promise<number> }
  const workspace = workspaceIn(given.workspace)
  const view = given.view === undefined ? [] : ['--view', given.view]
  const folder = workspace === undefined ? [] : ['--workspace', workspace]
  // Clients do not expect logs on stderr.
  const level = given.verbose === true ? [] : ['--log-level', 'error']
  return await run(['stdio', '--config', config, ...view, ...folder, ...level])
}

/** Returns stdout, if possible without blocking writes, so that a slow client cannot block this process. */
const clientOutput = () => {
  const output = process.stdout
  output.on('error', () => process.exit(EXIT.ok))
  unblock(output)
  return output
}

const endOnSignals = (destroy: () => void): void => {
  for (const [signal, code] of Object.entries(SIGNAL_CODES)) {
    process.on(signal, () => {
      destroy()
      process.exit(code)
    })
  }
}

interface Explained {
  readonly why: string
  /** A command to copy and run. */
  readonly fix: string
}

const REFUSED: Explained = { why: 'the daemon rejected the request', fix: 'mcp-proxy check' }
const FIX = 'mcp-proxy doctor --only D04'
const WHYS: Readonly<Record<DaemonProblem, string>> = {
  D041: 'see its log: mcp-proxy daemon logs',
  D042: 'its process is running but does not respond',
  D046: 'its socket or folder belongs to another user, or cannot be accessed',
}

/** Prints a message on stderr, with cause and fix if the process ends. */
const tell = (message: string, explained?: Explained): void => {
  const more = explained === undefined ? '' : `  why: ${explained.why}\n  fix: ${explained.fix}\n`
  process.stderr.write(`mcp-proxy: ${message}\n${more}`)
}
