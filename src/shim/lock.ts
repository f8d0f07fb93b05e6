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

/** Who is about to start a proxy. */
interface Holder {
  readonly pid: number
  /** When the process began, which tells it from a later one with its id; undefined where it is not known. */
  readonly birth: string | undefined
  /** In milliseconds since 1970. */
  readonly time: number
  /** Whoever knows it may take the lock over. */
  readonly key: string
}

/** A start takes no longer, and a hand-over renews the lock; one from the future is of a clock set back. */
const STALE_MS = 15_000
/** A lock appears with its content: one without was not written by us, or not to the end. */
const BROKEN_MS = 1000

/**
 * The right to start a proxy, as a file. It only keeps programs from starting at the same time: who serves is
 * decided by the socket.
 */
export class StartLock {
  readonly key: string
  readonly #file: string

  private constructor(file: string, key: string) {
    this.#file = file
    this.key = key
  }

  /** Takes the lock; undefined while somebody else holds it. Throws what the file system throws. */
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

  /** Takes over the lock that somebody holds for us; undefined if it is not there any more. */
  static adopt(file: string, key: string): StartLock | undefined {
    if (readHolder(file)?.key !== key) return undefined
    const lock = new StartLock(file, key)
    lock.renew()
    return lock
  }

  /** Says that the start goes on. */
  renew(): void {
    const draft = `${this.#file}.${randomId()}`
    try {
      if (readHolder(this.#file)?.key !== this.key) return
      writeFileSync(draft, holderText(this.key), { mode: 0o600, flag: 'wx' })
      renameSync(draft, this.#file)
    } catch {
      // The lock stays as it is, and ends sooner.
      rmSync(draft, { force: true })
    }
  }

  /** Lets go of the lock, if it is still ours. */
  release(): void {
    try {
      if (readHolder(this.#file)?.key === this.key) rmSync(this.#file, { force: true })
    } catch {
      // It ends by itself.
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

/** Whether a lock is there that nobody holds any more. */
export const isAbandoned = (file: string): boolean => {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return false
  const holder = readHolder(file)
  const ageMs = Math.abs(Date.now() - found.mtimeMs)
  return holder === undefined ? ageMs >= BROKEN_MS : !isHeld(holder, ageMs)
}

/** What programs have left of a lock that were killed while they wrote it. */
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

/** Whether somebody holds the lock; one that nobody holds any more is moved away. */
const isTaken = (file: string): boolean => {
  const holder = readHolder(file)
  if (!isAbandoned(file)) return existsSync(file)
  const aside = `${file}.${randomId()}`
  try {
    renameSync(file, aside)
    // Somebody may have taken it between the look and the move.
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

/** When a process began, and undefined for one that has ended, or where that is not known. */
const birthOf = (pid: number): string | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
