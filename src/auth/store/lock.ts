import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Fault, systemCode } from '../../kernel/faults.js'
import { randomId } from '../../kernel/ids.js'
import { isObject } from '../../kernel/object.js'
import { thisPlace } from '../../shim/place.js'

/** Exceeds the duration of a request to a token endpoint. */
const STALE_MS = 30_000
const WAIT_MS = 15_000
const POLL_MS = 20

interface LockOwner {
  readonly pid: number
  /** The machine and PID namespace of the process id. */
  readonly place: string
  /** By the wall clock. */
  readonly atMs: number
  readonly id: string
}

/** Locks held by this process: an earlier process may have had the same id. */
const current = new Set<string>()

/**
 * Runs `work` while no other process holds the lock file. A lock is stale after 30 s, when its process is
 * gone, or when its time is in the future. Rejects with a Fault `timeout` after waiting for 15 s.
 */
export const withLock = async <T>(file: string, work: () => T | Promise<T>): Promise<T> => {
  const id = randomId()
  const place = thisPlace()
  const endMs = performance.now() + WAIT_MS
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  current.add(id)
  try {
    while (!tryLock(file, { pid: process.pid, place, atMs: Date.now(), id })) {
      if (performance.now() > endMs) throw new Fault('timeout', 'another process is busy with this login')
      await setTimeout(POLL_MS)
    }
    try {
      return await work()
    } finally {
      // Another process may have taken it over since.
      if (ownerOf(file)?.id === id) rmSync(file, { force: true })
    }
  } finally {
    current.delete(id)
  }
}

const tryLock = (file: string, owner: LockOwner): boolean => {
  if (create(file, owner)) return true
  if (!isStale(file, owner.place)) return false
  // Serializes the removal, after checking that the lock is still the stale one.
  const breaking = `${file}.break`
  if (!create(breaking, owner)) {
    if (isStale(breaking, owner.place)) rmSync(breaking, { force: true })
    return false
  }
  try {
    if (isStale(file, owner.place)) rmSync(file, { force: true })
  } finally {
    rmSync(breaking, { force: true })
  }
  return create(file, owner)
}

/** Returns false if the file exists. */
const create = (file: string, owner: LockOwner): boolean => {
  try {
    writeFileSync(file, JSON.stringify(owner), { flag: 'wx', mode: 0o600 })
    return true
  } catch (thrown) {
    // Windows reports EPERM for a file that is being removed.
    const code = systemCode(thrown)
    if (code === 'EEXIST' || (process.platform === 'win32' && code === 'EPERM')) return false
    throw thrown
  }
}

const isStale = (file: string, place: string): boolean => {
  const owner = ownerOf(file)
  if (owner === undefined) return ageMs(file) > STALE_MS
  const heldMs = Date.now() - owner.atMs
  if (heldMs < 0 || heldMs > STALE_MS) return true
  if (owner.place !== place) return false
  return owner.pid === process.pid ? !current.has(owner.id) : !isRunning(owner.pid)
}

/** Returns undefined if the file is gone or incomplete. */
const ownerOf = (file: string): LockOwner | undefined => {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    const isOwner = isObject(value) && typeof value['pid'] === 'number' && typeof value['atMs'] === 'number'
    return isOwner ? (value as unknown as LockOwner) : undefined
  } catch {
    return undefined
  }
}

const ageMs = (file: string): number => {
  try {
    return Date.now() - statSync(file).mtimeMs
  } catch {
    return 0
  }
}

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (thrown) {
    return systemCode(thrown) !== 'ESRCH'
  }
}
