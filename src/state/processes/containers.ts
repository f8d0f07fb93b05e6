import { spawn } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync, readSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Logger } from '../../kernel/logger.js'
import { isObject } from '../../kernel/object.js'
import { placeOf, preparePlace } from '../../shim/place.js'
import { type ContainerRun, containerRun } from '../../transport/process/container-run.js'

/** A container that a server may leave behind, and the program that stops it. */
export interface RecordedContainer {
  readonly cidfile: string
  readonly stop: readonly string[]
  readonly cwd: string
  /** Only the variables that the program needs to find its daemon. */
  readonly env: Readonly<Record<string, string>>
}

/** Time limit of the stop command, which kills the container after five seconds. */
const STOP_MS = 15_000
const ID = /^[0-9a-f]{12,64}$/
const ID_BYTES = 128
const USED = /^(?:PATH|HOME|USERPROFILE|SYSTEMROOT|XDG_RUNTIME_DIR|DOCKER_\w+|CONTAINER_\w+|CONTAINERS_\w+)$/i

let files = 0

/** Adds a file for the id to a command line that runs a container; undefined if it runs none. */
export const prepareContainer = (
  {
    command,
    args,
    cwd,
  }: { readonly command: string; readonly args: readonly string[]; readonly cwd: string },
  mark: string,
  log: Logger,
): ContainerRun | undefined => {
  const place = placeOf(mark, process.env)
  files += 1
  const run = containerRun(command, args, { cwd, ours: join(dirname(place.lock), `${mark}-${files}.cid`) })
  if (run === undefined) return undefined
  try {
    if (!run.isGiven) preparePlace(place)
    // The program refuses a file that exists.
    else if (idIn(run.cidfile) !== undefined) rmSync(run.cidfile, { force: true })
    return run
  } catch (thrown) {
    log.warn({ err: thrown }, 'cannot record the id of a container: it may outlive its server')
    return undefined
  }
}

/** Returns the record with which the next proxy stops a container, if this one is killed. */
export const recordOf = (
  { cidfile, stop, env: own }: ContainerRun,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): RecordedContainer => ({
  cidfile,
  stop,
  cwd,
  env: Object.fromEntries(Object.entries({ ...env, ...own }).filter(([name]) => USED.test(name))),
})

/** Reads a record; undefined if it is not one. */
export const parseContainer = (value: unknown): RecordedContainer | undefined => {
  if (!isObject(value)) return undefined
  const { cidfile, stop, cwd, env } = value
  if (typeof cidfile !== 'string' || typeof cwd !== 'string' || !isObject(env)) return undefined
  if (!Array.isArray(stop) || !stop.every(word => typeof word === 'string') || stop.length === 0)
    return undefined
  const texts = Object.entries(env).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
  return { cidfile, stop, cwd, env: Object.fromEntries(texts) }
}

/** Stops a container, if its id is known, and removes the file with the id. Never rejects. */
export const stopContainer = async (container: RecordedContainer, log: Logger): Promise<void> => {
  const id = idIn(container.cidfile)
  if (id !== undefined) await stop(container, id, log)
  forgetContainer(container)
}

/** Removes the file with the id of a container that ended. */
export const forgetContainer = ({ cidfile }: Pick<RecordedContainer, 'cidfile'>): void => {
  if (idIn(cidfile) !== undefined) rmSync(cidfile, { force: true })
}

const stop = async ({ stop: line, cwd, env }: RecordedContainer, id: string, log: Logger): Promise<void> => {
  const [program = '', ...args] = line
  const code = await new Promise<number | string | null>(resolve => {
    const options = { cwd, env, stdio: 'ignore', windowsHide: true, timeout: STOP_MS } as const
    const child = spawn(program, withId(args, id), { ...options, killSignal: 'SIGKILL' })
    child.once('error', error => resolve(error.name))
    child.once('close', resolve)
  })
  const facts = { container: id.slice(0, 12), program, code }
  if (code === 0) log.info(facts, 'stopped the container of a server')
  else log.warn(facts, 'could not stop the container of a server; it may have ended')
}

/** Adds the id of a container to a command line, or to the script at its end. */
const withId = (args: readonly string[], id: string): string[] => {
  const script = args.at(-1) ?? ''
  return script.includes(' ') ? [...args.slice(0, -1), `${script} ${id}`] : [...args, id]
}

/** Returns the id in a file; undefined without one. */
const idIn = (file: string): string | undefined => {
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!fstatSync(fd).isFile()) return undefined
      const bytes = Buffer.alloc(ID_BYTES)
      const text = bytes.toString('latin1', 0, readSync(fd, bytes, 0, ID_BYTES, 0)).trim()
      return ID.test(text) ? text : undefined
    } finally {
      closeSync(fd)
    }
  } catch {
    return undefined
  }
}
