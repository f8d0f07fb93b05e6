import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../../kernel/faults.js'
import { isObject } from '../../kernel/object.js'
import { IDENTITY } from '../../machine/identity.js'
import { type AskOptions, ask } from '../../shim/ask.js'
import { isNewer, newProof } from '../../shim/hello.js'
import { StartLock } from '../../shim/lock.js'
import { isHangUp, isNobody, type Place, preparePlace } from '../../shim/place.js'
import { createPrivateSync } from '../../state/private-file.js'

/** How long another program may hold the lock, and an older proxy take to end. */
const PATIENCE_MS = 25_000
const POLL_MS = 100
const ANSWER_MS = 3000

export interface SeatOptions {
  readonly place: Place
  /** Of the lock that is held for us. */
  readonly key?: string | undefined
  /** Whether to leave the place to a proxy that is there already and no older than we are. */
  readonly isModest: boolean
  /** Whether to leave it to any proxy: replicas of one configuration stand beside each other. */
  readonly isReplica?: boolean | undefined
}

/** What a proxy says of itself at `/v1/status`, as far as it matters here. */
interface Occupant {
  readonly pid: number
  readonly version: string
  /** As `Welcome.kept`. */
  readonly kept: string | undefined
}

/**
 * Makes the place of a configuration free, and resolves with the lock on it. Undefined where another proxy
 * stays there. Rejects with a Fault `unavailable` for one that does not make room, and with what the file
 * system says.
 */
export const takeSeat = async ({
  place,
  key,
  isModest,
  isReplica = false,
}: SeatOptions): Promise<StartLock | undefined> => {
  preparePlace(place)
  keepToken(place)
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

/** The lock, once it is free; undefined where whoever held it has started a proxy that may stay. */
const takeLock = async (
  place: Place,
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
  throw new Fault('unavailable', `another program has been starting this proxy for long: ${place.lock}`)
}

/** The proxy at a place; undefined if there is none. Rejects if that cannot be told. */
export const occupantOf = async (place: Place): Promise<Occupant | undefined> => {
  for (const endMs = performance.now() + ANSWER_MS; ; ) {
    try {
      return await occupantNow(place)
    } catch (thrown) {
      if (isNobody(thrown)) return undefined
      // One that ends closes connections that it has not looked at, and is gone the next moment.
      if (!isHangUp(thrown) || performance.now() >= endMs) throw thrown
    }
    await delay(POLL_MS)
  }
}

const occupantNow = async (place: Place): Promise<Occupant> => {
  const { status, body } = await ask(asking(place), '/v1/status')
  const found: unknown = status === 200 ? JSON.parse(body) : undefined
  const { pid, version, kept }: Record<string, unknown> = isObject(found) ? found : {}
  if (typeof pid === 'number' && typeof version === 'string')
    return { pid, version, kept: typeof kept === 'string' ? kept : undefined }
  throw new Fault('unavailable', `what answers at ${place.socket} is not mcp-proxy`)
}

const displace = async (place: Place, { pid }: Occupant, lock: StartLock): Promise<void> => {
  await ask(asking(place), '/v1/hand-over', JSON.stringify({ version: IDENTITY.version, pid: process.pid }))
  for (const endMs = performance.now() + PATIENCE_MS; performance.now() < endMs; ) {
    if ((await occupantOf(place).catch(() => ({ pid })))?.pid !== pid) return
    lock.renew()
    await delay(POLL_MS)
  }
  throw new Fault('unavailable', `the proxy with pid ${pid} was asked to make room, but does not end`)
}

/** How programs of ours ask the proxy at a place. */
export const asking = (
  { socket, token }: { readonly socket: string; readonly token?: string | undefined },
  limitMs = ANSWER_MS,
): AskOptions => ({
  socket,
  limitMs,
  hello: { version: IDENTITY.version, pid: process.pid, ...newProof(tokenIn(token)) },
})

export const tokenIn = (file: string | undefined): Buffer | undefined =>
  file === undefined ? undefined : readFileSync(file)

const TOKEN_BYTES = 32

const keepToken = ({ token }: Place): void => {
  if (token !== undefined) createPrivateSync(token, randomBytes(TOKEN_BYTES).toString('base64url'))
}
