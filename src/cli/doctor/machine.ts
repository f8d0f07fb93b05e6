import { execFile } from 'node:child_process'
import { accessSync, constants, lstatSync, readFileSync, type Stats, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { isSamePath } from '../../config/file/watch.js'
import { asking } from '../../control/daemon/daemon-lock.js'
import { LoginShell, shellOf } from '../../control/environment/login-shell.js'
import type {
  ConfigFacts,
  DaemonFacts,
  DaemonStatus,
  Facts,
  PortFacts,
  ProcessFacts,
  ProgramFacts,
  SessionFacts,
} from '../../doctor/facts.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { isObject } from '../../kernel/object.js'
import { plainLine } from '../../kernel/secrets/plain-text.js'
import { bareHost } from '../../kernel/url-address.js'
import { askDaemon } from '../../shim/ask.js'
import { abandonedDrafts, isAbandoned } from '../../shim/lock.js'
import { isAbsent, isDenied, placeId, placeOf, type RuntimePaths, thisMachine } from '../../shim/place.js'
import { leftovers, runningProxies } from '../../state/processes/orphans.js'
import { portOwner } from '../../state/processes/port-owner.js'

export { tryDaemon } from './dry-run.js'

const ANSWER_MS = 3000
/** A healthy daemon answers within a few milliseconds; offline checks wait for none. */
const GLANCE_MS = 150

/** Returns the place of a configuration; undefined if the file is missing. */
export const placeAt = (file: string): RuntimePaths | undefined => {
  try {
    const machine = thisMachine()
    return placeOf(placeId(file, machine.at), process.env, machine)
  } catch {
    return undefined
  }
}

/** Examines the private socket of a configuration. */
export const readDaemon = async (file: string, isOffline: boolean): Promise<DaemonFacts | undefined> => {
  const place = placeAt(file)
  if (place === undefined) return undefined
  const { socket, lock, log } = place
  const facts = {
    file,
    version: IDENTITY.version,
    socket,
    lock,
    log,
    unusable: unusableAt(place),
    isLockDead: isAbandoned(lock),
    drafts: abandonedDrafts(lock),
    pid: undefined,
    born: undefined,
    status: undefined,
    sessions: [],
  }
  try {
    return { ...facts, ...(await askState(place, isOffline ? GLANCE_MS : ANSWER_MS)) }
  } catch (thrown) {
    const found = await absence(thrown, socket, isOffline)
    // An unusable folder explains all other symptoms.
    return { ...facts, ...found, unusable: facts.unusable ?? found.unusable }
  }
}

const askState = async (place: RuntimePaths, limitMs: number) => {
  const status: unknown = JSON.parse((await askDaemon(asking(place, limitMs), '/v1/status')).body)
  if (!isStatus(status)) throw new Fault('unavailable', 'the response is not the status of mcp-proxy')
  const { body } = await askDaemon(asking(place, limitMs), '/v1/sessions')
  const { sessions = [] } = JSON.parse(body) as { readonly sessions?: readonly SessionFacts[] }
  return { state: 'serves', status, pid: status.pid, sessions } as const
}

/** Explains why no daemon answered. */
const absence = async (
  thrown: unknown,
  socket: string,
  isOffline: boolean,
): Promise<Pick<DaemonFacts, 'state'> & Partial<Pick<DaemonFacts, 'unusable' | 'pid' | 'born'>>> => {
  if (isAbsent(thrown)) return { state: systemCode(thrown) === 'ENOENT' ? 'none' : 'dead' } as const
  if (thrown instanceof Fault && thrown.code === 'timeout')
    return isOffline ? ({ state: 'none' } as const) : { state: 'silent' as const, ...(await whoIsAt(socket)) }
  const isOurs = isDenied(thrown) && !(thrown instanceof Fault)
  const why = 'what answers there is not mcp-proxy'
  return { state: 'denied' as const, unusable: isOurs ? undefined : { path: socket, why } }
}

const isStatus = (value: unknown): value is DaemonStatus =>
  isObject(value) && typeof value['pid'] === 'number' && Array.isArray(value['servers'])

/** Returns the live process that recorded a socket as its own. */
const whoIsAt = async (socket: string): Promise<Pick<DaemonFacts, 'pid' | 'born'>> => {
  const record = (await runningProxies()).find(one => one.socket === socket)
  return { pid: record?.pid, born: record?.born }
}

const unusableAt = ({ socket, lock, log }: RuntimePaths): DaemonFacts['unusable'] => {
  if (process.platform === 'win32') return undefined
  for (const path of new Set([dirname(lock), dirname(socket), dirname(log)])) {
    const why = whyUnusable(path)
    if (why !== undefined) return { path, why }
  }
  return undefined
}

/** Returns why a folder cannot be used or created. */
const whyUnusable = (path: string): string | undefined => {
  const found = entryAt(path)
  if (found?.isSymbolicLink() === true) return 'it is a link'
  if (found !== undefined && !found.isDirectory()) return 'it is not a folder'
  if (found !== undefined && found.uid !== process.getuid?.()) return 'it belongs to another user'
  return whyNotWritable(path, found === undefined ? nearestAbove(path) : path)
}

/** Returns why a folder is not writable or cannot be created in its existing ancestor `there`. */
const whyNotWritable = (path: string, there: string): string | undefined => {
  try {
    if (!statSync(there).isDirectory()) return `${there} is not a folder`
    accessSync(there, constants.W_OK | constants.X_OK)
    return undefined
  } catch (thrown) {
    return there === path
      ? 'it is not writable'
      : `it cannot be created: ${there} is not writable (${systemCode(thrown) ?? 'unknown error'})`
  }
}

const entryAt = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // One of its ancestors is a file.
    return undefined
  }
}

const nearestAbove = (path: string): string => {
  const above = dirname(path)
  return above === path || entryAt(above) !== undefined ? above : nearestAbove(above)
}

/** Finds other proxies of the configuration and the leftovers of dead ones. */
export const readProcesses = async (file: string, daemon: DaemonFacts | undefined): Promise<ProcessFacts> => {
  const [running, left] = await Promise.all([runningProxies(), leftovers()])
  const same = running.filter(
    ({ verb, config, pid }) =>
      verb === 'serve' && config !== undefined && isSamePath(config, file) && pid !== daemon?.status?.pid,
  )
  return {
    doubles: daemon?.status === undefined ? [] : same.map(({ pid, born }) => ({ pid, born })),
    left: left.map(each => ({ ...each, command: nameOfProcess(each.pid) })),
  }
}

/** Returns only the name, because arguments may hold secrets. */
const nameOfProcess = (pid: number): string => {
  try {
    return plainLine(readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
  } catch {
    return 'a server'
  }
}

/** Checks whether the configured port is free or ours. */
export const configuredPort = async (
  config: ConfigFacts | undefined,
  daemon: DaemonFacts | undefined,
): Promise<PortFacts | undefined> => {
  const listen = config?.loaded.config?.listen
  if (listen === undefined || !listen.http || listen.port === 0) return undefined
  const { port, isGiven } = listen
  const host = bareHost(listen.host)
  if (daemon?.status !== undefined) return { host, port, isGiven, takenBy: undefined }
  if (!(await isTaken(host, port))) return { host, port, isGiven, takenBy: undefined }
  const ours = (await runningProxies()).find(
    ({ url }) => url !== undefined && new URL(url).port === String(port),
  )
  const takenBy = ours === undefined ? await portOwner(port) : `mcp-proxy ${ours.verb}, pid ${ours.pid}`
  return { host, port, isGiven, takenBy: takenBy ?? 'another program' }
}

const isTaken = (host: string, port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', thrown => resolve(systemCode(thrown) === 'EADDRINUSE'))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(false)))
  })

const DOCKER_MS = 3000

/** Checks whether the Docker or Podman daemon answers; undefined if no server needs it. */
export const readDocker = async (programs: readonly ProgramFacts[]): Promise<Facts['docker'] | undefined> => {
  const program = programs.find(({ command }) =>
    /(?:^|[/\\])(?:docker|podman)(?:\.exe)?$/.test(command),
  )?.path
  if (program === undefined) return undefined
  return await new Promise(resolve => {
    execFile(
      program,
      ['version', '--format', '{{.Server.Version}}'],
      { timeout: DOCKER_MS, windowsHide: true },
      (error, _stdout, stderr) => {
        const [line = ''] = stderr.trim().split('\n')
        const message = line === '' ? 'it does not answer' : plainLine(line)
        resolve({ why: error === null ? undefined : `${program} version fails: ${message}` })
      },
    )
  })
}

/** Reads the login shell's environment, if the daemon uses it. */
export const readShell = async (config: ConfigFacts | undefined): Promise<Facts['shell'] | undefined> => {
  if (config?.loaded.config?.daemon.shellEnv !== true || process.platform === 'win32') return undefined
  let why: string | undefined
  const onProblem = (wrong: string): void => {
    why = wrong
  }
  const values = await new LoginShell({ env: process.env, onProblem }).variables()
  return { shell: shellOf(process.env) ?? '', why, values }
}
