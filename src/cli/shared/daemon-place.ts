import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { occupantOf } from '../../control/daemon/daemon-lock.js'
import { cause } from '../../diagnostics/explain.js'
import { Fault } from '../../kernel/faults.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import { Connector, NoDaemon } from '../../shim/connector.js'
import { placeId, placeOf, type RuntimePaths, thisMachine } from '../../shim/place.js'
import type { InstanceRecord } from '../../state/instance.js'
import { endProcess } from '../../state/processes/end-process.js'
import { runningProxies } from '../../state/processes/orphans.js'
import { configFile, configTarget, loadFile, readUsable } from './configuration.js'
import { printToStderr } from './output/output.js'
import { runsWith } from './running.js'
import { CliError, causeError, EXIT } from './verb.js'

/** A daemon's configuration and runtime paths. */
export interface DaemonPlace {
  /** Absolute path. */
  readonly file: string
  readonly place: RuntimePaths
  readonly home: string
}

/** The daemon that a verb's flags select. */
export interface WantedDaemon {
  readonly config?: string | undefined
  /** Process id. */
  readonly pid?: string | undefined
}

/** Returns the place of the configuration that a flag names. Throws a CliError if the file is missing. */
export const daemonPlace = (flag: string | undefined): DaemonPlace => {
  const file = resolve(configFile(flag))
  if (!existsSync(file)) throw noConfiguration(file)
  return placeFor(file)
}

const noConfiguration = (file: string): CliError =>
  causeError(EXIT.configuration, cause('D010', { file, why: 'no such file' }))

const placeFor = (file: string): DaemonPlace => {
  const machine = thisMachine()
  return { file, place: placeOf(placeId(file, machine.at), process.env, machine), home: machine.home }
}

/**
 * Returns the place of a daemon whose configuration may be gone, as after an uninstall. Rejects with a
 * CliError if there is neither a configuration nor a daemon.
 */
export const runningPlace = async ({ config, pid }: WantedDaemon): Promise<DaemonPlace> => {
  const usual = placeFor(resolve(configTarget(config)))
  if (pid === undefined && [usual.file, usual.place.log].some(path => existsSync(path))) return usual
  if (pid === undefined && (await isThere(usual.place))) return usual
  const all = (await runningProxies()).filter(({ verb, socket }) => verb === 'serve' && socket !== undefined)
  const found = all.find(one => (pid === undefined ? runsWith(one, usual.file) : String(one.pid) === pid))
  if (found !== undefined) return recordedPlace(found, usual)
  if (pid === undefined) throw noConfiguration(usual.file)
  throw causeError(EXIT.failure, cause('cli.no-pid', { pid }))
}

const isThere = async (place: RuntimePaths): Promise<boolean> => {
  try {
    return (await occupantOf(place)) !== undefined
  } catch {
    return true
  }
}

/** Returns the place that a running proxy recorded. */
const recordedPlace = (
  { config, socket = '', token }: InstanceRecord,
  { file, home }: DaemonPlace,
): DaemonPlace => {
  const id = token === undefined ? basename(socket, '.sock') : basename(token, '.token')
  const beside = placeOf(id, { ...process.env, MCP_PROXY_RUN_DIR: dirname(token ?? socket) })
  // A socket path that would be too long is outside the run folder.
  const place = existsSync(beside.facts) ? beside : placeOf(id, process.env)
  return { file: config ?? file, place: { ...place, socket, token }, home }
}

const START_MS = 15_000

/**
 * Starts the daemon unless it runs, and resolves with its process id once it answers. Rejects with a
 * CliError.
 */
export const startedDaemon = async ({ file, place, home }: DaemonPlace, isKept: boolean): Promise<number> => {
  const { env, execPath, pid } = process
  const script = fileURLToPath(packageFile('bin/mcp-proxy.js'))
  const program = { execPath, script, config: file, home, env, more: isKept ? ['--keep'] : [] }
  const hello = { version: IDENTITY.version, pid, client: 'mcp-proxy daemon start' }
  try {
    const { stream, welcome } = await new Connector({ place, program, hello, tell: printToStderr }).connect(
      START_MS,
    )
    stream.destroy()
    return welcome.pid
  } catch (thrown) {
    if (!(thrown instanceof NoDaemon)) throw thrown
    await checkConfiguration(file)
    throw new CliError(EXIT.failure, `${thrown.code}: ${thrown.message}; its log is ${place.log}`)
  }
}

/** Prints a configuration's problems and rejects with a CliError if a daemon cannot use it. */
export const checkConfiguration = async (file: string): Promise<void> => {
  if (!existsSync(file)) throw noConfiguration(file)
  const { config } = await loadFile(file)
  if (config === undefined || config.servers.length + config.waiting.length === 0) await readUsable(file)
}

/**
 * Ends the process recorded at a place after verifying its id and start time. Resolves with false if no such
 * process is known, or it does not end.
 */
export const endRecordedAt = async ({ socket }: RuntimePaths): Promise<boolean> => {
  const record = (await runningProxies()).find(one => one.socket === socket)
  // Windows reports start times by the wall clock, which already matched the record.
  if (record === undefined || (record.born === undefined && process.platform !== 'win32')) return false
  return await endProcess(record.pid, record.born)
}

/** Returns the CliError for a running daemon that does not answer. */
export const wedged = (thrown: unknown, { place }: DaemonPlace): CliError => {
  const { message } = Fault.from(thrown)
  return causeError(EXIT.failure, cause('cli.hung-daemon', { socket: place.socket, reason: message }))
}
