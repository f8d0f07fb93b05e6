import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { kill, pid as ownPid, platform } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { systemCode } from '../../kernel/faults.js'
import type { Disk } from './disk.js'

/** Interval at which a holder renews its lock; a lock that is not renewed belongs to a dead process. */
const RENEW_MS = 500
/** Age at which a lock is stale if its process is gone. A process in another container only looks gone. */
const GONE_MS = 3 * RENEW_MS
/** Age at which any lock is stale: the process id may have been reused. */
const STALE_MS = 20 * RENEW_MS
const WAIT_MS = 30_000
const POLL_MS = 15

/**
 * Reports a lock that cannot be taken: because of its `cause`, or because another process held it for too
 * long.
 */
export class LockError extends Error {
  /** Lock file. */
  readonly lock: string

  constructor(lock: string, cause?: unknown) {
    super(`${lock} cannot be taken`, { cause })
    this.lock = lock
  }
}

/** Tokens of the locks that this process holds or is about to take. */
const held = new Set<string>()
/** Lock files of the current task, which may take them again. */
const taken = new AsyncLocalStorage<ReadonlySet<string>>()

/**
 * Runs `work` while no other task or process holds the lock of the same file. The lock is `PATH.lock` in the
 * file's folder, which must exist. Rejects with a LockError, or as `work` does.
 */
export const withFileLock = async <T>(disk: Disk, path: string, work: () => Promise<T>): Promise<T> => {
  const lock = `${path}.lock`
  const outer = taken.getStore() ?? new Set()
  if (outer.has(lock)) return await work()
  const release = await acquire(disk, lock)
  try {
    return await taken.run(new Set([...outer, lock]), work)
  } finally {
    await release()
  }
}

/**
 * Returns whether `withLock` created a file's lock, possibly in a dead process; other programs use the same
 * name.
 */
export const isLocked = async (disk: Disk, path: string): Promise<boolean> =>
  /^\d+ [\da-f-]{36}$/.test((await tokenIn(disk, `${path}.lock`)) ?? '')

const acquire = async (disk: Disk, lock: string): Promise<() => Promise<void>> => {
  const token = `${ownPid} ${randomUUID()}`
  const endMs = performance.now() + WAIT_MS
  held.add(token)
  try {
    for (;;) {
      const handle = await create(disk, lock, token)
      if (handle !== undefined) return hold(disk, lock, { token, handle })
      await removeStale(disk, lock)
      if (performance.now() > endMs) throw new LockError(lock)
      await delay(POLL_MS * (0.5 + Math.random()))
    }
  } catch (thrown) {
    held.delete(token)
    throw thrown instanceof LockError ? thrown : new LockError(lock, thrown)
  }
}

const create = async (disk: Disk, lock: string, token: string): Promise<FileHandle | undefined> => {
  let handle: FileHandle
  try {
    handle = await disk.open(lock, 'wx', 0o600)
  } catch (thrown) {
    if (isBusy(thrown)) return undefined
    throw thrown
  }
  try {
    await handle.writeFile(Buffer.from(token))
    return handle
  } catch (thrown) {
    await handle.close().catch(() => undefined)
    await disk.rm(lock, { force: true }).catch(() => undefined)
    throw thrown
  }
}

/** On Windows, a file that is being removed cannot be opened. */
const isBusy = (thrown: unknown): boolean =>
  systemCode(thrown) === 'EEXIST' || (platform === 'win32' && systemCode(thrown) === 'EPERM')

interface Held {
  readonly token: string
  readonly handle: FileHandle
}

const hold = (disk: Disk, lock: string, { token, handle }: Held): (() => Promise<void>) => {
  const renew = async (): Promise<void> => {
    const now = new Date()
    await handle.utimes(now, now)
  }
  const timer = setInterval(() => void renew().catch(() => undefined), RENEW_MS).unref()
  return async () => {
    clearInterval(timer)
    await handle.close().catch(() => undefined)
    // A process that was suspended for long may have lost its lock.
    if ((await tokenIn(disk, lock)) === token) await disk.rm(lock, { force: true }).catch(() => undefined)
    // Deleted last: otherwise a task of this process would take the lock for a leftover.
    held.delete(token)
  }
}

const tokenIn = async (disk: Disk, lock: string): Promise<string | undefined> =>
  await disk.readFile(lock).then(
    bytes => bytes.toString(),
    () => undefined,
  )

const removeStale = async (disk: Disk, lock: string): Promise<void> => {
  const token = await tokenIn(disk, lock)
  if (token === undefined || !(await isStale(disk, lock, token))) return
  // Unless another process has replaced it meanwhile.
  if ((await tokenIn(disk, lock)) === token) await disk.rm(lock, { force: true })
}

const isStale = async (disk: Disk, lock: string, token: string): Promise<boolean> => {
  const pid = Number.parseInt(token, 10)
  // Our process id without a held token means that an earlier removal failed.
  if (pid === ownPid) return !held.has(token)
  const changedMs = await disk.stat(lock).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.NaN,
  )
  // Absolute, because the clock may have been set back.
  const ageMs = Math.abs(Date.now() - changedMs)
  return ageMs > (isAlive(pid) ? STALE_MS : GONE_MS)
}

const isAlive = (pid: number): boolean => {
  if (!(pid > 0)) return false
  try {
    kill(pid, 0)
    return true
  } catch (thrown) {
    return systemCode(thrown) === 'EPERM'
  }
}
