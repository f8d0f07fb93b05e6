import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { systemCode } from '../kernel/faults.js'
import { randomId } from '../kernel/ids.js'
import { isObject } from '../kernel/object.js'

/** The process that is starting a proxy. */
interface Holder {
  readonly pid: number
  /** Start time of the process, to detect a reused id; undefined if unknown. */
  readonly birth: string | undefined
  /** Milliseconds since 1970. */
  readonly time: number
  /** Secret that allows a process to take over the lock. */
  readonly key: string
}

/** Exceeds any start; the lock is renewed at a hand-over. Also applies to times in the future. */
const STALE_MS = 15_000
/** Locks are created with content: an incomplete one was left by a crash or another program. */
const BROKEN_MS = 1000

/** A file lock on starting a proxy. It avoids concurrent starts; the socket decides which proxy serves. */
export class StartLock {
  readonly key: string
  readonly #file: string

  private constructor(file: string, key: string) {
    this.#file = file
    this.key = key
  }

  /** Takes the lock; undefined while another process holds it. Throws file system errors. */
  static take(file: string): StartLock | undefined {
    if (isTaken(file)) return undefined
    for (const draft of abandonedDrafts(file)) rmSync(draft, { force: true })
    const key = randomId()
    const draft = `${file}.${key}`
    try {
      writeFileSync(draft, holderText(key), { mode: 0o600, flag: 'wx' })
      linkSync(draft, file)
      return new StartLock(file, key)
    } catch (thrown) {
      if (systemCode(thrown) === 'EEXIST') return undefined
      throw thrown
    } finally {
      rmSync(draft, { force: true })
    }
  }

  /** Takes over the lock from the parent process; undefined if it is gone. */
  static adopt(file: string, key: string): StartLock | undefined {
    if (readHolder(file)?.key !== key) return undefined
    const lock = new StartLock(file, key)
    lock.renew()
    return lock
  }

  /** Renews the lock. */
  renew(): void {
    const draft = `${this.#file}.${randomId()}`
    try {
      if (readHolder(this.#file)?.key !== this.key) return
      writeFileSync(draft, holderText(this.key), { mode: 0o600, flag: 'wx' })
      renameSync(draft, this.#file)
    } catch {
      // The lock stays as it is, and expires sooner.
      rmSync(draft, { force: true })
    }
  }

  /** Releases the lock if it is still held. */
  release(): void {
    try {
      if (readHolder(this.#file)?.key === this.key) rmSync(this.#file, { force: true })
    } catch {
      // It expires by itself.
    }
  }
}

const holderText = (key: string): string => {
  const holder: Holder = { pid: process.pid, birth: birthOf(process.pid), time: Date.now(), key }
  return JSON.stringify(holder)
}

const readHolder = (file: string): Holder | undefined => {
  try {
    const { pid, birth, time, key }: Record<string, unknown> = recordOf(readFileSync(file, 'utf8'))
    if (typeof pid !== 'number') return undefined
    return {
      pid,
      birth: typeof birth === 'string' ? birth : undefined,
      time: typeof time === 'number' ? time : Number.POSITIVE_INFINITY,
      key: typeof key === 'string' ? key : '',
    }
  } catch {
    return undefined
  }
}

const recordOf = (text: string): Record<string, unknown> => {
  const value: unknown = JSON.parse(text)
  return isObject(value) ? value : {}
}

/** Reports whether the lock was abandoned. */
export const isAbandoned = (file: string): boolean => {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return false
  const holder = readHolder(file)
  const ageMs = Math.abs(Date.now() - found.mtimeMs)
  return holder === undefined ? ageMs >= BROKEN_MS : !isHeld(holder, ageMs)
}

/** Returns drafts of locks left by killed processes. */
export const abandonedDrafts = (file: string): readonly string[] => {
  try {
    const start = `${basename(file)}.`
    const drafts = readdirSync(dirname(file)).filter(name => name.startsWith(start))
    return drafts.map(name => join(dirname(file), name)).filter(isOld)
  } catch {
    return []
  }
}

const isOld = (file: string): boolean => {
  const found = statSync(file, { throwIfNoEntry: false })
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > STALE_MS
}

/** Reports whether a process holds the lock; moves an abandoned one away. */
const isTaken = (file: string): boolean => {
  const holder = readHolder(file)
  if (!isAbandoned(file)) return existsSync(file)
  const aside = `${file}.${randomId()}`
  try {
    renameSync(file, aside)
    // Another process may have taken it since the check.
    if (readHolder(aside)?.key !== holder?.key) linkSync(aside, file)
  } catch (thrown) {
    if (!['ENOENT', 'EEXIST'].includes(systemCode(thrown) ?? '')) throw thrown
  } finally {
    rmSync(aside, { force: true })
  }
  return false
}

const isHeld = ({ pid, birth, time }: Holder, ageMs: number): boolean => {
  if (Math.max(ageMs, Math.abs(Date.now() - time)) > STALE_MS) return false
  try {
    process.kill(pid, 0)
  } catch (thrown) {
    return systemCode(thrown) === 'EPERM'
  }
  const now = birthOf(pid)
  return birth === undefined || now === birth
}

/** Returns the start time of a process; undefined if it has ended or the time is unknown. */
const birthOf = (pid: number): string | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
