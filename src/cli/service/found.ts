import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { asking } from '../../control/daemon/daemon-lock.js'
import { whoAmI } from '../../kernel/machine/who-am-i.js'
import { isObject } from '../../kernel/object.js'
import { type FileState, type Files, readState } from '../../setup/files/revise.js'
import { commandIn } from '../../setup/service/files.js'
import {
  SERVICE_PLATFORMS,
  type ServiceCommand,
  type ServiceManager,
  type ServicePlatform,
  serviceManager,
} from '../../setup/service/manager.js'
import { askDaemon } from '../../shim/ask.js'
import { thisMachine as machineOfPlace, placeId, placeOf, type RuntimePaths } from '../../shim/place.js'
import { managerOf } from '../shared/config-claim.js'
import { oneLineText } from '../shared/output/output.js'
import { setupFiles, setupMachine } from '../shared/setup-files.js'
import { CliError, EXIT } from '../shared/verb.js'

/** The system's service manager and our file for it. */
export interface FoundService {
  readonly manager: ServiceManager
  /** Name as in `Welcome.kept`. */
  readonly name: string
  readonly files: Files
  readonly state: FileState
  /** Command line of the installed service; undefined without one. */
  readonly command: readonly string[] | undefined
}

/** Rejects with a CliError if the service manager is unknown, or the file is another program's. */
export const findService = async (): Promise<FoundService> => {
  const platform = servicePlatform(process.platform)
  const manager = serviceManager(platform, setupMachine(), whoAmI().uid)
  const { files } = await setupFiles()
  const state = await readState(files.disk, manager.file)
  const command = state.bytes && commandIn(manager.text(state.bytes))
  if (state.bytes !== undefined && command === undefined) {
    const [why, fix] = ['it was not changed', `move it away: mv ${manager.file} ${manager.file}.old`]
    throw new CliError(EXIT.failure, `${manager.file} is not the service of this program`, { why, fix })
  }
  return { manager, name: managerOf(platform), files, state, command }
}

/** Throws a CliError for a system with an unknown service manager. */
export const servicePlatform = (platform: NodeJS.Platform): ServicePlatform => {
  const found = SERVICE_PLATFORMS.find(each => each === platform)
  if (found !== undefined) return found
  const fix = 'have your system run: mcp-proxy serve --config FILE --service'
  throw new CliError(EXIT.failure, `services are not supported on ${platform}`, { fix })
}

const COMMAND_MS = 60_000
const WORDS_MAX = 500

/** Runs a system command. Resolves with its error, or undefined on success. */
export const runCommand = ([program, ...args]: ServiceCommand): Promise<string | undefined> =>
  new Promise(resolve => {
    const options = { timeout: COMMAND_MS, windowsHide: true, maxBuffer: 1024 * 1024 }
    const child = execFile(program, args, options, (error, out, err) => {
      if (error === null) resolve(undefined)
      else if (error.code === 'ENOENT') resolve(`${program} is not on PATH`)
      else resolve(oneLineText(err || out || error.message).slice(0, WORDS_MAX))
    })
    child.stdin?.end()
  })

/** Returns whether the service manager reports the service as running. */
export const isActive = async ({ manager }: FoundService): Promise<boolean> =>
  (await runCommand(manager.isActive)) === undefined

/** Returns the configuration that a command line names. */
export const configIn = (command: readonly string[] | undefined): string | undefined =>
  command?.[command.indexOf('--config') + 1]

/** Returns the place of the installed service's configuration. */
export const servicePlaceIn = (command: readonly string[] | undefined): RuntimePaths | undefined => {
  const config = configIn(command)
  if (config === undefined) return undefined
  const machine = machineOfPlace()
  return placeOf(placeId(config, machine.at), process.env, machine)
}

/** The reply in which a proxy identifies itself. */
export interface KeptProxy {
  readonly pid: number
  readonly version: string
}

/** Returns the proxy at a place if this service manager runs it; otherwise undefined. */
export const keptAt = async (place: RuntimePaths, name: string): Promise<KeptProxy | undefined> => {
  try {
    const { body } = await askDaemon(asking(place), '/v1/status')
    const found: unknown = JSON.parse(body)
    if (!isObject(found) || found['kept'] !== name) return undefined
    const { pid, version } = found
    return typeof pid === 'number' && typeof version === 'string' ? { pid, version } : undefined
  } catch {
    return undefined
  }
}

const POLL_MS = 100

/** Polls `probe` and resolves with its first value within a time limit. */
export const foundWithin = async <T>(
  limitMs: number,
  probe: () => Promise<T | undefined>,
): Promise<T | undefined> => {
  const endMs = performance.now() + limitMs
  let found = await probe()
  while (found === undefined && performance.now() < endMs) {
    await delay(POLL_MS)
    found = await probe()
  }
  return found
}

/** Returns whether systemd keeps this user's services after the last session; undefined on other systems. */
export const lingers = (name: string): boolean | undefined =>
  name === 'systemd' ? existsSync(`/var/lib/systemd/linger/${whoAmI().name}`) : undefined
