import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { kill, pid as ownPid, platform } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { systemCode } from '../../kernel/faults.js'
import type { Disk } from './disk.js'

/** A holder renews its lock at this interval, so a lock that is not renewed belongs to a dead process. */
const RENEW_MS = 500
/** Age at which a lock is stale whose process is gone. In another container it only looks gone. */
const GONE_MS = 3 * RENEW_MS
/** Age at which any lock is stale: the process id may belong to another program by now. */
const STALE_MS = 20 * RENEW_MS
const WAIT_MS = 30_000
const POLL_MS = 15

/** A lock cannot be taken: because of its `cause`, or because another process has held it for too long. */
export class LockError extends Error {
  /** The file of the lock. */
  readonly lock: string

  constructor(lock: string, cause?: unknown) {
    super(`${lock} cannot be taken`, { cause })
    this.lock = lock
  }
}

/** Tokens of the locks that this process holds or is about to take. */
const held = new Set<string>()
/** Lock files that the running task holds, so that it can take them again. */
const taken = new AsyncLocalStorage<ReadonlySet<string>>()

/**
 * Runs `work` while no other task or process that calls this runs for the same file. The lock is a file next
 * to it, `PATH.lock`, in a folder that must exist. Rejects with a LockError, or as `work` does.
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

/** Whether `withLock` has locked a file, in a process that may be gone; other programs use the same name. */
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
    // A process that was stopped for long has lost its lock to another one.
    if ((await tokenIn(disk, lock)) === token) await disk.rm(lock, { force: true }).catch(() => undefined)
    // Not before, or a task of this process would take it for one that could not be removed.
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
  // Not if another process has replaced it meanwhile.
  if ((await tokenIn(disk, lock)) === token) await disk.rm(lock, { force: true })
}

const isStale = async (disk: Disk, lock: string, token: string): Promise<boolean> => {
  const pid = Number.parseInt(token, 10)
  // Only a lock that could not be removed is ours and not held.
  if (pid === ownPid) return !held.has(token)
  const changedMs = await disk.stat(lock).then(
    ({ mtimeMs }) => mtimeMs,
    () => Number.NaN,
  )
  // Also negative: the clock may have been set back.
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
