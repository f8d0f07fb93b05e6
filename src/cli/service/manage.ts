import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { asking } from '../../control/daemon/daemon-lock.js'
import { cause, causeLine } from '../../diagnostics/explain.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import { whoAmI } from '../../kernel/machine/who-am-i.js'
import { readState, replaceFile } from '../../setup/files/revise.js'
import { placeVariables } from '../../setup/install/entry.js'
import { isInNpxCache, stableNode, stableScript } from '../../setup/install/programs.js'
import type { ServiceProgram } from '../../setup/service/files.js'
import { SERVICE_PLATFORMS, type ServiceCommand, serviceManager } from '../../setup/service/manager.js'
import { askDaemon } from '../../shim/ask.js'
import { preparePlace } from '../../shim/place.js'
import { type DaemonPlace, daemonPlace } from '../shared/daemon-place.js'
import { readPort } from '../shared/listening.js'
import { print, printToStderr } from '../shared/output/output.js'
import { setupMachine } from '../shared/setup-files.js'
import { fromCache } from '../shared/stable-paths.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption, textOption } from '../shared/verb.js'
import {
  type FoundService,
  findService,
  foundWithin,
  isActive,
  type KeptProxy,
  keptAt,
  lingers,
  runCommand,
  servicePlaceIn,
  servicePlatform,
} from './found.js'

const flags = {
  config: configOption,
  port: textOption('The port to listen on; overrides the configuration'),
} as const

interface Flags {
  readonly config?: string | undefined
  readonly port?: string | undefined
}

/** Maximum time for a proxy to start, and then to answer. */
const BEGIN_MS = 5000
const ANSWER_MS = 20_000
/** Covers the end of calls, then servers, then the proxy. */
const END_MS = 25_000

export const install = defineVerb({
  usage: 'install',
  describe: 'Install a service that starts the proxy now and at every login',
  flags: { ...flags, json: jsonOption },
  examples: [
    ['mcp-proxy service install', 'A user service of systemd, an agent of launchd or a task of Windows'],
    ['mcp-proxy service install --port 8808', 'Overrides the port of the configuration'],
    ['mcp-proxy service install --config mcp.json', 'For another configuration'],
  ],
  async run(args) {
    const where = daemonPlace(args.config)
    const program = await programOf(args, where)
    const found = await findService()
    const isSame = found.state.bytes?.equals(found.manager.bytes(program)) === true
    if (!isSame || !(await isActive(found))) await replaceService(found, program, where)
    return await announce(found, where, args.json === true)
  },
})

export const uninstall = defineVerb({
  usage: 'uninstall',
  describe: 'Stop and remove the service',
  flags: { json: jsonOption },
  examples: [
    ['mcp-proxy service uninstall', 'Connected clients start a daemon when they need it'],
    ['mcp-proxy service uninstall && mcp-proxy daemon start', 'Runs until the next logout'],
    ['mcp-proxy service uninstall && mcp-proxy service install', 'Reinstalls it'],
  ],
  async run({ json }) {
    const { wasInstalled, file } = await removeService()
    if (json === true) print(JSON.stringify({ version: 1, wasInstalled, file }))
    if (!wasInstalled) printToStderr(`mcp-proxy: no service is installed: missing ${file}`)
    else if (json !== true) print(`${file} is removed, and nothing starts the proxy at login`)
    return EXIT.ok
  },
})

/** Stops the service and removes its file. Rejects with a CliError. */
export const removeService = async (): Promise<{ readonly wasInstalled: boolean; readonly file: string }> => {
  const found = await findService()
  const { command, files, manager, state } = found
  const { file } = manager
  if (command === undefined) return { wasInstalled: false, file }
  await endService(found)
  await replaceFile({ disk: files.disk, backups: undefined }, state, undefined)
  const wrong = await wrongIn(manager.afterwards)
  if (wrong !== undefined) printToStderr(`mcp-proxy: ${wrong.message}`)
  return { wasInstalled: true, file }
}

export const printFile = defineVerb({
  usage: 'print',
  describe: 'Print the file of the service, and write nothing',
  flags: {
    ...flags,
    platform: {
      choices: SERVICE_PLATFORMS,
      requiresArg: true,
      describe: 'For another system; UTF-16 for Windows',
    },
  },
  examples: [
    ['mcp-proxy service print', 'The file that install would write on this machine'],
    ['mcp-proxy service print --platform darwin', 'A launchd agent with the paths of this machine'],
    ['mcp-proxy service print --platform win32 > mcp-proxy.xml', 'The task of Windows, as schtasks reads it'],
  ],
  async run(args) {
    const program = await programOf(args, daemonPlace(args.config))
    const platform = args.platform ?? servicePlatform(process.platform)
    // `print` would append a line end that is not UTF-16.
    process.stdout.write(serviceManager(platform, setupMachine(), whoAmI().uid).bytes(program))
    return EXIT.ok
  },
})

/** Returns the program of the service. Rejects with a CliError for paths that an update may remove. */
const programOf = async ({ port }: Flags, { file, place }: DaemonPlace): Promise<ServiceProgram> => {
  const running = fileURLToPath(packageFile('bin/mcp-proxy.js'))
  if (isInNpxCache(running)) throw fromCache()
  const machine = setupMachine()
  const node = await stableNode(machine, process.execPath, realpath)
  const script = await stableScript(machine, running, realpath)
  for (const { path, isStable } of [node, script]) {
    if (!isStable) printToStderr(causeLine(cause('D052.service', { path })))
  }
  const { env } = process
  const user = [env['USERDOMAIN'], whoAmI().name].filter(part => part !== undefined && part !== '').join('\\')
  const { MCP_PROXY_RUN_DIR: runDir, XDG_STATE_HOME: stateHome } = placeVariables(machine)
  return {
    node: node.path,
    script: script.path,
    config: file,
    log: place.log,
    port: port === undefined ? undefined : readPort(port),
    runDir,
    stateHome,
    user,
  }
}

/** Writes the file and makes the service manager read it; restores the previous file on failure. */
const replaceService = async (found: FoundService, program: ServiceProgram, { place }: DaemonPlace) => {
  const { files, manager, state } = found
  // launchd does not create the folder of its logs.
  preparePlace(place)
  if (state.bytes !== undefined) await endService(found)
  await replaceFile(files, state, manager.bytes(program))
  const wrong = await wrongIn(manager.install)
  if (wrong === undefined) return
  const written = await readState(files.disk, manager.file)
  await replaceFile({ disk: files.disk, backups: undefined }, written, state.bytes)
  const isNew = state.bytes === undefined
  await wrongIn(isNew ? manager.afterwards : manager.install)
  throw new CliError(EXIT.failure, wrong.message, {
    why: isNew ? 'nothing is installed' : 'the service was not changed',
    fix: 'to have a daemon until you log out: mcp-proxy daemon start --keep',
  })
}

/** Reports the result. */
const announce = async (found: FoundService, { place }: DaemonPlace, isJson: boolean): Promise<number> => {
  const { manager, name } = found
  const probe = (): Promise<KeptProxy | undefined> => keptAt(place, name)
  const early = await foundWithin(BEGIN_MS, probe)
  // A starting proxy holds the lock until it answers.
  const proxy = early ?? (existsSync(place.lock) ? await foundWithin(ANSWER_MS, probe) : undefined)
  if (proxy === undefined && !(await isActive(found))) {
    const why = `its log is ${place.log}`
    throw new CliError(EXIT.failure, `${manager.file} is installed, but does not run`, {
      why,
      fix: 'mcp-proxy check',
    })
  }
  const state = proxy === undefined ? 'does not answer yet' : `runs, pid ${proxy.pid}`
  const { file } = manager
  if (isJson) print(JSON.stringify({ version: 1, file, pid: proxy?.pid, lingers: lingers(name) }))
  else print(`mcp-proxy ${state}, starts at login: ${file}`)
  if (lingers(name) === false) printToStderr('after logout too: loginctl enable-linger')
  return EXIT.ok
}

/** Stops the service and its proxy. Rejects with a CliError if the proxy keeps running. */
const endService = async (found: FoundService): Promise<void> => {
  const { command, manager, name } = found
  const wrong = await wrongIn(manager.uninstall)
  // launchd fails while a stop is in progress, and all managers fail if the service did not run.
  const isGone = async (): Promise<true | undefined> => ((await isActive(found)) ? undefined : true)
  if (wrong !== undefined && (await foundWithin(END_MS, isGone)) === undefined) throw wrong
  const place = servicePlaceIn(command)
  if (place === undefined || (await keptAt(place, name)) === undefined) return
  await askDaemon(asking(place), '/v1/stop', '').catch(() => undefined)
  await foundWithin(END_MS, async () => ((await keptAt(place, name)) === undefined ? true : undefined))
}

/** Runs commands until one fails; resolves with its error. */
const wrongIn = async (commands: readonly ServiceCommand[]): Promise<CliError | undefined> => {
  for (const command of commands) {
    const wrong = await runCommand(command)
    if (wrong !== undefined) return new CliError(EXIT.failure, `${command.join(' ')}: ${wrong}`)
  }
  return undefined
}
