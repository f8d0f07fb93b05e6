import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../../kernel/faults.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { isObject } from '../../kernel/object.js'
import { askDaemon, type DaemonAskOptions } from '../../shim/ask.js'
import { isNewer, newProof } from '../../shim/hello.js'
import { StartLock } from '../../shim/lock.js'
import { isAbsent, isHangUp, preparePlace, type RuntimePaths } from '../../shim/place.js'
import { createPrivateSync } from '../../state/private-file.js'

/** Time limit for another program to release the lock, and for an older proxy to end. */
const PATIENCE_MS = 25_000
const POLL_MS = 100
const ANSWER_MS = 3000

export interface DaemonLockOptions {
  readonly place: RuntimePaths
  /** Key of a lock that the caller holds for us. */
  readonly key?: string | undefined
  /** True to leave a running proxy of the same or a newer version in place. */
  readonly isModest: boolean
  /** True to leave any running proxy in place: replicas share a configuration. */
  readonly isReplica?: boolean | undefined
}

/** The members of `/v1/status` that matter here. */
interface Occupant {
  readonly pid: number
  readonly version: string
  /** See `Welcome.kept`. */
  readonly kept: string | undefined
}

/**
 * Frees the runtime paths of a configuration and returns their lock. Returns undefined if another proxy
 * stays. Rejects with a Fault `unavailable` if a proxy does not end, and with file system errors.
 */
export const takeDaemonLock = async ({
  place,
  key,
  isModest,
  isReplica = false,
}: DaemonLockOptions): Promise<StartLock | undefined> => {
  preparePlace(place)
  const lock = await takeLock(place, key, isModest || isReplica)
  if (lock === undefined) return undefined
  try {
    const occupant = await occupantOf(place)
    if (occupant === undefined) return lock
    if (!isReplica && (!isModest || isNewer(IDENTITY.version, occupant.version))) {
      await displace(place, occupant, lock)
      return lock
    }
  } catch (thrown) {
    lock.release()
    throw thrown
  }
  lock.release()
  return undefined
}

/** Waits for the lock. Returns undefined if its holder started a proxy that may stay. */
const takeLock = async (
  place: RuntimePaths,
  key: string | undefined,
  isModest: boolean,
): Promise<StartLock | undefined> => {
  const adopted = key === undefined ? undefined : StartLock.adopt(place.lock, key)
  if (adopted !== undefined) return adopted
  for (const endMs = performance.now() + PATIENCE_MS; performance.now() < endMs; ) {
    const lock = StartLock.take(place.lock)
    if (lock !== undefined) return lock
    await delay(POLL_MS)
    if (isModest && (await occupantOf(place).catch(() => undefined)) !== undefined) return undefined
  }
  throw new Fault('unavailable', `another program holds the start lock for too long: ${place.lock}`)
}

/** Returns the running proxy, or undefined. Rejects if this cannot be determined. */
export const occupantOf = async (place: RuntimePaths): Promise<Occupant | undefined> => {
  for (const endMs = performance.now() + ANSWER_MS; ; ) {
    try {
      return await occupantNow(place)
    } catch (thrown) {
      if (isAbsent(thrown)) return undefined
      // A stopping proxy closes unread connections just before it exits.
      if (!isHangUp(thrown) || performance.now() >= endMs) throw thrown
    }
    await delay(POLL_MS)
  }
}

const occupantNow = async (place: RuntimePaths): Promise<Occupant> => {
  const { status, body } = await askDaemon(asking(place), '/v1/status')
  const found: unknown = status === 200 ? JSON.parse(body) : undefined
  const { pid, version, kept }: Record<string, unknown> = isObject(found) ? found : {}
  if (typeof pid === 'number' && typeof version === 'string')
    return { pid, version, kept: typeof kept === 'string' ? kept : undefined }
  throw new Fault('unavailable', `the program at ${place.socket} is not mcp-proxy`)
}

const displace = async (place: RuntimePaths, { pid }: Occupant, lock: StartLock): Promise<void> => {
  await askDaemon(
    asking(place),
    '/v1/hand-over',
    JSON.stringify({ version: IDENTITY.version, pid: process.pid }),
  )
  for (const endMs = performance.now() + PATIENCE_MS; performance.now() < endMs; ) {
    if ((await occupantOf(place).catch(() => ({ pid })))?.pid !== pid) return
    lock.renew()
    await delay(POLL_MS)
  }
  throw new Fault('unavailable', `the proxy with pid ${pid} was asked to stop, but still runs`)
}

/** Returns the request options of our own programs. */
export const asking = (
  { socket, token }: { readonly socket: string; readonly token?: string | undefined },
  limitMs = ANSWER_MS,
): DaemonAskOptions => ({
  socket,
  limitMs,
  hello: { version: IDENTITY.version, pid: process.pid, ...newProof(tokenInFile(token)) },
})

export const tokenInFile = (file: string | undefined): Buffer | undefined =>
  file === undefined ? undefined : readFileSync(file)

const TOKEN_BYTES = 32

/** Returns the token in a file, which is created first if necessary. Throws file system errors. */
export const keptToken = (file: string | undefined): Buffer | undefined => {
  if (file !== undefined) createPrivateSync(file, randomBytes(TOKEN_BYTES).toString('base64url'))
  return tokenInFile(file)
}
