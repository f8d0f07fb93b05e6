import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { asking } from '../../../control/daemon/daemon-lock.js'
import { isObject } from '../../../kernel/object.js'
import { whoAmI } from '../../../machine/who-am-i.js'
import { type FileState, type Files, readState } from '../../../setup/files/revise.js'
import { commandIn } from '../../../setup/service/files.js'
import {
  SERVICE_PLATFORMS,
  type ServiceCommand,
  type ServiceManager,
  type ServicePlatform,
  serviceManager,
} from '../../../setup/service/manager.js'
import { askDaemon } from '../../../shim/ask.js'
import { thisMachine as machineOfPlace, placeId, placeOf, type RuntimePaths } from '../../../shim/place.js'
import { oneLineText } from '../../output/output.js'
import { managerOf } from '../../seat.js'
import { setupFiles, setupMachine } from '../../setup/setup-files.js'
import { CliError, EXIT } from '../../verb.js'

/** The manager of services of this system, and the file that it has. */
export interface FoundService {
  readonly manager: ServiceManager
  /** As `Welcome.kept` says. */
  readonly name: string
  readonly files: Files
  readonly state: FileState
  /** What the installed service runs; undefined if there is none. */
  readonly command: readonly string[] | undefined
}

/** Rejects with a CliError where there is no manager that we know, or the file is somebody else's. */
export const findService = async (): Promise<FoundService> => {
  const platform = servicePlatform(process.platform)
  const manager = serviceManager(platform, setupMachine(), whoAmI().uid)
  const { files } = await setupFiles()
  const state = await readState(files.disk, manager.file)
  const command = state.bytes && commandIn(manager.text(state.bytes))
  if (state.bytes !== undefined && command === undefined) {
    const [why, fix] = ['it is left as it is', `move it away: mv ${manager.file} ${manager.file}.old`]
    throw new CliError(EXIT.failure, `${manager.file} is not the service of this program`, { why, fix })
  }
  return { manager, name: managerOf(platform), files, state, command }
}

/** Throws a CliError for a system whose manager of services we do not know. */
export const servicePlatform = (platform: NodeJS.Platform): ServicePlatform => {
  const found = SERVICE_PLATFORMS.find(each => each === platform)
  if (found !== undefined) return found
  const fix = 'have your system run: mcp-proxy serve --config FILE --service'
  throw new CliError(EXIT.failure, `services are not supported on ${platform}`, { fix })
}

const COMMAND_MS = 60_000
const WORDS_MAX = 500

/** Runs a command of the system; resolves with what is wrong, undefined if nothing is. */
export const runCommand = ([program, ...args]: ServiceCommand): Promise<string | undefined> =>
  new Promise(resolve => {
    const options = { timeout: COMMAND_MS, windowsHide: true, maxBuffer: 1024 * 1024 }
    const child = execFile(program, args, options, (error, out, err) => {
      if (error === null) resolve(undefined)
      else if (error.code === 'ENOENT') resolve(`there is no ${program} on PATH`)
      else resolve(oneLineText(err || out || error.message).slice(0, WORDS_MAX))
    })
    child.stdin?.end()
  })

/** Whether the manager says that the service runs. */
export const isActive = async ({ manager }: FoundService): Promise<boolean> =>
  (await runCommand(manager.isActive)) === undefined

/** The configuration that a command line names. */
export const configIn = (command: readonly string[] | undefined): string | undefined =>
  command?.[command.indexOf('--config') + 1]

/** The place of the configuration that the installed service serves. */
export const servicePlaceIn = (command: readonly string[] | undefined): RuntimePaths | undefined => {
  const config = configIn(command)
  if (config === undefined) return undefined
  const machine = machineOfPlace()
  return placeOf(placeId(config, machine.at), process.env, machine)
}

/** A proxy as it says of itself. */
export interface KeptProxy {
  readonly pid: number
  readonly version: string
}

/** The proxy at a place that this manager keeps; undefined if there is none. */
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

/** Resolves with the first value that `look` finds within a time. */
export const foundWithin = async <T>(
  limitMs: number,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> => {
  const endMs = performance.now() + limitMs
  let found = await look()
  while (found === undefined && performance.now() < endMs) {
    await delay(POLL_MS)
    found = await look()
  }
  return found
}

/** Whether systemd keeps services of this user after its last session; undefined elsewhere. */
export const lingers = (name: string): boolean | undefined =>
  name === 'systemd' ? existsSync(`/var/lib/systemd/linger/${whoAmI().name}`) : undefined
