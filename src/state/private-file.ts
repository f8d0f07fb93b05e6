import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { systemCode } from '../kernel/faults.js'
import { randomId } from '../kernel/ids.js'

const OTHERS_MAY_WRITE = 0o022
const OTHERS_MAY_READ = 0o077

/** Returns true if this user owns a file without the `forbidden` permissions. Windows has no such modes. */
export const isPrivate = (
  { uid, mode }: { readonly uid: number; readonly mode: number },
  forbidden = OTHERS_MAY_WRITE,
): boolean => process.platform === 'win32' || (uid === process.getuid?.() && !(mode & forbidden))

/**
 * Follows no link and waits for no pipe. Windows lacks some of these flags, which are undefined and count as
 * 0.
 */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const APPEND =
  constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK

export interface FoundFile {
  /** Undefined if the file exceeds `maxBytes`. */
  readonly bytes: Buffer | undefined
  /** True if only this user can have written it. */
  readonly isTrusted: boolean
  /** True if only this user can have read it too. */
  readonly isSecret: boolean
}

/** Reads a file of at most `maxBytes`. Returns undefined if it is missing. Throws file system errors. */
export const findFile = (file: string, maxBytes: number): FoundFile | undefined => {
  let fd: number
  try {
    fd = openSync(file, READ)
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return undefined
    throw thrown
  }
  try {
    const stat = fstatSync(fd)
    const bytes = Buffer.allocUnsafe(Math.min(stat.size, maxBytes) + 1)
    const length = readSync(fd, bytes, 0, bytes.length, 0)
    return {
      bytes: length === stat.size && length <= maxBytes ? bytes.subarray(0, length) : undefined,
      isTrusted: isPrivate(stat),
      isSecret: isPrivate(stat, OTHERS_MAY_READ),
    }
  } finally {
    closeSync(fd)
  }
}

/** Reads a file that only this user can have written. Returns undefined for any other file. Never throws. */
export const readPrivate = (file: string, maxBytes: number): Buffer | undefined => {
  try {
    const found = findFile(file, maxBytes)
    return found?.isTrusted === true ? found.bytes : undefined
  } catch {
    return undefined
  }
}

const DRAFT = { mode: 0o600, flag: 'wx' } as const
const FOLDER = { recursive: true, mode: 0o700 } as const

const draftOf = (file: string): string => `${file}.${randomId()}`

/** Writes or replaces a file atomically, and creates its folder. Rejects with file system errors. */
export const writePrivate = async (file: string, bytes: string | Uint8Array): Promise<void> => {
  await mkdir(dirname(file), FOLDER)
  const draft = draftOf(file)
  try {
    await writeFile(draft, bytes, DRAFT)
    await whenReleased(() => rename(draft, file))
  } catch (thrown) {
    await rm(draft, { force: true })
    throw thrown
  }
}

/** Writes a file synchronously, unless it exists. */
export const createPrivateSync = (file: string, bytes: string): void => {
  mkdirSync(dirname(file), FOLDER)
  const draft = draftOf(file)
  writeFileSync(draft, bytes, DRAFT)
  try {
    linkSync(draft, file)
  } catch (thrown) {
    if (systemCode(thrown) === 'EEXIST') return
    // Some file systems have no links.
    renameSync(draft, file)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Writes or replaces a file synchronously and atomically. Throws file system errors. */
export const replacePrivateSync = (file: string, bytes: string): void => {
  const draft = draftOf(file)
  try {
    writeFileSync(draft, bytes, DRAFT)
    renameSync(draft, file)
  } catch (thrown) {
    rmSync(draft, { force: true })
    throw thrown
  }
}

/**
 * Appends to a file, which it creates if necessary. Throws file system errors, and an Error for a file that
 * others can write.
 */
export const appendPrivateSync = (file: string, bytes: string): void => {
  mkdirSync(dirname(file), FOLDER)
  const fd = openSync(file, APPEND, 0o600)
  try {
    if (!isPrivate(fstatSync(fd))) throw new Error('other users can write to the file')
    writeSync(fd, bytes)
  } finally {
    closeSync(fd)
  }
}

/** Returns the size of a file; 0 if it is missing or cannot be read. */
export const sizeOf = (file: string): number => {
  try {
    return statSync(file).size
  } catch {
    return 0
  }
}

/** Writes or replaces a file, and flushes it to disk. Throws file system errors. */
export const writeDraftSync = (file: string, bytes: string): void => {
  mkdirSync(dirname(file), FOLDER)
  rmSync(file, { force: true })
  writeFileSync(file, bytes, { ...DRAFT, flush: true })
}

/** Removes a file, if it exists. Rejects with file system errors. */
export const removePrivate = (file: string): Promise<void> => whenReleased(() => rm(file, { force: true }))

/** Error codes of Windows for a file that another program has open. */
const HELD: ReadonlySet<string | undefined> = new Set(['EACCES', 'EBUSY', 'EPERM'])
/** Virus scanners and other proxies close a file soon. */
const WAITS_MS = [10, 20, 50, 100, 200, 400]

/** On Windows, retries an operation on a file that another program has open. @internal */
export const whenReleased = async <T>(
  work: () => Promise<T>,
  {
    platform = process.platform,
    wait = (delayMs: number): Promise<unknown> => setTimeout(delayMs),
  }: { readonly platform?: NodeJS.Platform; readonly wait?: (delayMs: number) => Promise<unknown> } = {},
): Promise<T> => {
  for (const delayMs of platform === 'win32' ? WAITS_MS : []) {
    try {
      return await work()
    } catch (thrown) {
      if (!HELD.has(systemCode(thrown))) throw thrown
      await wait(delayMs)
    }
  }
  return await work()
}
