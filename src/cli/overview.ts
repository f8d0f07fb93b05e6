import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Loaded } from '../config/types.js'
import { IDENTITY } from '../kernel/machine/identity.js'
import { isShortCommand } from '../kernel/machine/own-command.js'
import type { ProxyStatus } from '../telemetry/status/status.js'
import { findServers } from './setup/finding.js'
import { configTarget, loadFile } from './shared/configuration.js'
import { count, oneLineText, print, printToStderr, shortPath } from './shared/output/output.js'
import { stdoutLayout, tableText } from './shared/output/table.js'
import { setupFiles, setupMachine } from './shared/setup-files.js'
import { EXIT } from './shared/verb.js'

/** Shows the status on a terminal, or how to get started, for `mcp-proxy` without a verb. */
export const overview = async (): Promise<number> => {
  const file = resolve(configTarget(undefined))
  if (!existsSync(file)) return await beginning()
  const loaded = await loadFile(file)
  const [state, clients] = await Promise.all([askDaemon(file), installedIn()])
  const errors = loaded.problems.filter(({ severity }) => severity === 'error').length
  print(
    [
      `mcp-proxy ${IDENTITY.version}`,
      `configuration  ${file}${errors > 0 ? `, ${count(errors, 'error')}` : ''}`,
      `daemon         ${state === undefined ? 'does not run; clients start it' : runs(state)}`,
      `servers        ${serversLine(loaded, state)}`,
      `tools          ${state === undefined ? await rememberedTools(loaded) : toolsOf(state)}`,
      `clients        ${clients.join(', ') || 'no client starts it yet'}`,
    ].join('\n'),
  )
  const first = errors > 0 ? CHECK : clients.length === 0 ? INSTALL : STATUS
  printToStderr(['', 'Next:', ...[first, LIST, DOCTOR].map(each => next(each, 15))].join('\n'))
  return EXIT.ok
}

type Next = readonly [command: string, about: string]

const CHECK: Next = ['check', 'show the problems in the configuration']
const INSTALL: Next = ['install --all', 'add it to the clients on this machine']
const STATUS: Next = ['status', 'show the state of each server']
const LIST: Next = ['list', 'list the tools clients see']
const DOCTOR: Next = ['doctor', 'find problems and print the fix for each']

/** The path of a clone makes commands long, so that their texts stand below them. */
const next = ([command, about]: Next, width = command.length + 3): string =>
  isShortCommand() ? `  mcp-proxy ${command.padEnd(width)}${about}` : `  mcp-proxy ${command}\n      ${about}`

/** Lists the servers of all clients with their files and scopes; starts and writes nothing. */
const beginning = async (): Promise<number> => {
  const [found, rows] = await Promise.all([findServers(undefined), clientServers()])
  const names = found.plan.servers.filter(({ entry }) => entry !== undefined)
  const isBare = rows.length === 0
  const clients = new Set(rows.map(([, client]) => client)).size
  const counts = `${count(rows.length, 'server')} in ${count(clients, 'client')}, ${names.length} to add`
  print(
    isBare
      ? 'mcp-proxy is not set up yet, and no client on this machine has servers.'
      : `mcp-proxy is not set up yet. Found ${counts}:\n\n` +
          tableText(['SERVER', 'CLIENT', 'SCOPE', 'FILE'], rows, stdoutLayout()),
  )
  for (const problem of found.problems) printToStderr(problem.message)
  const about = isBare ? 'writes a configuration to begin with' : 'puts one proxy in front of them'
  const init = next(['init', `${about}; shows everything before it is written`])
  printToStderr(`\nNext:\n${init}`)
  if (isBare) printToStderr(next(['add NAME -- COMMAND', 'starts a server once, and adds it']))
  return EXIT.ok
}

type Row = readonly [server: string, client: string, scope: string, file: string]

/** Returns the servers in the user's files, the current folder and the projects that clients know. */
const clientServers = async (): Promise<readonly Row[]> => {
  const [{ files }, { readClients }, { projectsIn }, { readValue }] = await Promise.all([
    setupFiles(),
    import('../setup/import/sources.js'),
    import('../setup/edit/containers.js'),
    import('../setup/files/edit-file.js'),
  ])
  const machine = setupMachine()
  const project = machine.cwd === machine.home ? undefined : machine.cwd
  const { sources } = await readClients({ machine, disk: files.disk, clients: undefined, project })
  const rows = sources.flatMap(({ label, file, folder, found }) =>
    found.map(({ name }): Row => [oneLineText(name), label, scopeOf(folder), shortPath(file)]),
  )
  for (const { id, label, file, folder } of sources) {
    if (id !== 'claude-code' || folder !== undefined) continue
    const others = projectsIn(await readValue(files, file, 'jsonc')).filter(each => each.folder !== project)
    rows.push(
      ...others.flatMap(each =>
        each.found.map(({ name }): Row => [oneLineText(name), label, scopeOf(each.folder), shortPath(file)]),
      ),
    )
  }
  return rows
}

const scopeOf = (folder: string | undefined): string =>
  folder === undefined ? 'user' : `project ${shortPath(folder)}`

/** Maximum wait for a daemon that hangs. */
const PATIENCE_MS = 1000

const askDaemon = async (file: string): Promise<ProxyStatus | undefined> => {
  const [{ askDaemon }, { asking }, { placeId, placeOf, thisMachine }, { parseStatus }] = await Promise.all([
    import('../shim/ask.js'),
    import('../control/daemon/daemon-lock.js'),
    import('../shim/place.js'),
    import('./status/status.js'),
  ])
  try {
    const machine = thisMachine()
    const place = placeOf(placeId(file, machine.at), process.env, machine)
    return parseStatus((await askDaemon(asking(place, PATIENCE_MS), '/v1/status')).body, place.socket)
  } catch {
    // `mcp-proxy doctor` shows the reason.
    return undefined
  }
}

/** Returns the clients that have our entry. */
const installedIn = async (): Promise<readonly string[]> => {
  const [{ files, state }, { Journals }, { CLIENTS }] = await Promise.all([
    setupFiles(),
    import('../setup/install/journal.js'),
    import('../setup/clients/clients.js'),
  ])
  const installs = await new Journals(files.disk, state).all()
  const ids = new Set(installs.map(({ client }) => client))
  return CLIENTS.filter(({ id }) => ids.has(id)).map(({ label }) => label)
}

const runs = ({ pid, version, sessions }: ProxyStatus): string =>
  `runs, pid ${pid}, version ${version}, ${count(sessions, 'session')}`

const serversLine = ({ config, disabled }: Loaded, state: ProxyStatus | undefined): string => {
  const all = config?.servers.length ?? 0
  const parts = [count(all, 'server')]
  const ready = state?.servers.filter(each => each.state === 'ready').length
  if (ready !== undefined) parts.push(`${ready} ready`)
  const ill = state?.servers.filter(({ state: is }) => is === 'failed' || is === 'backoff') ?? []
  if (ill.length > 0) parts.push(`in trouble: ${ill.map(({ name }) => name).join(' ')}`)
  if (disabled.length > 0) parts.push(`left out: ${disabled.map(({ name }) => name).join(' ')}`)
  return parts.join(', ')
}

/** Returns the cached tools of the last run. */
const rememberedTools = async ({ config }: Loaded): Promise<string> => {
  const [{ knownTools }, { stateDir }] = await Promise.all([
    import('../state/known-tools.js'),
    import('../state/state-key.js'),
  ])
  const { length } = knownTools(config?.servers ?? [], stateDir(process.env))
  return length === 0 ? 'known once it runs' : `${length} when they last ran`
}

const toolsOf = ({ servers }: ProxyStatus): string =>
  String(servers.reduce((sum, { items }) => sum + (items?.tools ?? 0), 0))
