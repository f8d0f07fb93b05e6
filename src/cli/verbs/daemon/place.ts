import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IDENTITY } from '../../../app/identity.js'
import { Fault } from '../../../kernel/faults.js'
import { packageFile } from '../../../machine/package-file.js'
import { Connector, NoDaemon } from '../../../shim/connector.js'
import { type Place, placeId, placeOf, thisMachine } from '../../../shim/place.js'
import { configFile } from '../../configuration.js'
import { say } from '../../output/output.js'
import { CliError, EXIT } from '../../verb.js'

/** Where the daemon of a configuration is met. */
export interface DaemonPlace {
  /** Absolute. */
  readonly file: string
  readonly place: Place
  readonly home: string
}

/** The place of the configuration that a flag names. Throws a CliError. */
export const daemonPlace = (flag: string | undefined): DaemonPlace => {
  const file = resolve(configFile(flag))
  const machine = thisMachine()
  try {
    return { file, place: placeOf(placeId(file, machine.at), process.env, machine), home: machine.home }
  } catch {
    throw new CliError(EXIT.configuration, `there is no configuration ${file}`)
  }
}

const START_MS = 15_000

/** Has the daemon run, and resolves with its process id once it answers. Rejects with a CliError. */
export const startedDaemon = async ({ file, place, home }: DaemonPlace, isKept: boolean): Promise<number> => {
  const { env, execPath, pid } = process
  const script = fileURLToPath(packageFile('bin/mcp-proxy.js'))
  const program = { execPath, script, config: file, home, env, more: isKept ? ['--keep'] : [] }
  const hello = { version: IDENTITY.version, pid, client: 'mcp-proxy daemon start' }
  try {
    const { stream, welcome } = await new Connector({ place, program, hello, tell: say }).connect(START_MS)
    stream.destroy()
    return welcome.pid
  } catch (thrown) {
    if (!(thrown instanceof NoDaemon)) throw thrown
    throw new CliError(EXIT.failure, `${thrown.code}: ${thrown.message}; its log is ${place.log}`)
  }
}

/** A CliError for a daemon that is there and does not answer. */
export const wedged = (thrown: unknown, { place }: DaemonPlace): CliError => {
  const words = Fault.from(thrown).message
  return new CliError(EXIT.failure, `the daemon at ${place.socket} cannot be asked (D042): ${words}`)
}
