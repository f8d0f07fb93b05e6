import { createHash, randomBytes } from 'node:crypto'
import { basename, dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'
import { systemCode } from '../../kernel/faults.js'
import { SetupError } from '../setup-error.js'
import type { Disk } from './disk.js'
import { isLocked, LockError, withFileLock } from './lock.js'

/** A file as it was read; a replacement must start from this state. */
export interface FileState {
  /** Absolute path after all symbolic links; the file may be missing. */
  readonly path: string
  /** Undefined if the file is missing. */
  readonly bytes: Buffer | undefined
  readonly mode: number
}

/** The disk, and the location of backups. */
export interface Files {
  readonly disk: Disk
  /** Folder of backups; undefined keeps none. */
  readonly backups: string | undefined
}

const MAX_BYTES = 64 * 1024 * 1024
const PRIVATE = 0o600
const PRIVATE_FOLDER = { mode: 0o700 } as const
/** Maximum links that Linux follows on one path (path_resolution(7)). */
const LINKS_MAX = 40
const BACKUPS_PER_FILE = 20

export const hashOf = (bytes: Uint8Array | undefined): string =>
  bytes === undefined ? 'none' : createHash('sha256').update(bytes).digest('hex')

/** Reads a file, following links. Rejects with a SetupError. */
export const readState = async (disk: Disk, file: string): Promise<FileState> => {
  const path = await target(disk, resolve(file))
  return await readFound(disk, path, await found(disk, path))
}

type Found = Awaited<ReturnType<Disk['stat']>>

/** Returns the entry at a path; undefined if there is none. Rejects with a SetupError. */
const found = async (disk: Disk, path: string): Promise<Found | undefined> => {
  try {
    return await disk.stat(path)
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return undefined
    throw inWords(path, 'read', thrown)
  }
}

const readFound = async (disk: Disk, path: string, at: Found | undefined): Promise<FileState> => {
  const missing = { path, bytes: undefined, mode: PRIVATE }
  if (at === undefined) return missing
  if (!at.isFile()) throw new SetupError(path, 'this is not a file')
  if (at.size > MAX_BYTES) throw new SetupError(path, 'this is longer than 64 MiB')
  try {
    return { path, bytes: await disk.readFile(path), mode: at.mode & 0o7777 }
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return missing
    throw inWords(path, 'read', thrown)
  }
}

/** Minimum size of files that are read only once, such as `~/.claude.json` with its history. */
const LARGE_BYTES = 256 * 1024
/** A file written this recently may change again within the same time stamp. */
const RACY_MS = 100

interface Remembered {
  readonly state: FileState
  readonly stamp: string
}

/** Large files read from each disk, by path. */
const remembered = new WeakMap<Disk, Map<string, Remembered>>()

/** Returns whether a file is large enough to be read and parsed once per run. */
export const isLarge = ({ bytes }: FileState): boolean => (bytes?.length ?? 0) >= LARGE_BYTES

/**
 * Reads a file as `readState` does, but returns the earlier state of a large unchanged file, so that it is
 * parsed once.
 */
export const readOnce = async (disk: Disk, file: string): Promise<FileState> => {
  const path = await target(disk, resolve(file))
  const at = await found(disk, path)
  if (at === undefined || at.size < LARGE_BYTES) return await readFound(disk, path, at)
  const { size, mode, ino = 0, mtimeMs, ctimeMs = mtimeMs } = at
  const stamp = [size, mode, ino, mtimeMs, ctimeMs].join(' ')
  const known = remembered.get(disk) ?? new Map<string, Remembered>()
  remembered.set(disk, known)
  const last = known.get(path)
  if (last?.stamp === stamp) return last.state
  known.delete(path)
  const isRacy = Math.abs(Date.now() - Math.max(mtimeMs, ctimeMs)) < RACY_MS
  const state = await readFound(disk, path, at)
  if (!isRacy && state.bytes?.length === size) known.set(path, { state, stamp })
  return state
}

/** Returns whether a path exists, following links, without reading it. Rejects with a SetupError. */
export const isThere = async (disk: Disk, file: string): Promise<boolean> =>
  (await found(disk, await target(disk, resolve(file)))) !== undefined

/** Follows the links at the end of a path, even to a missing file. Rejects with a SetupError. */
const target = async (disk: Disk, path: string): Promise<string> => {
  const isLink = (await disk.readlink(path).catch(() => undefined)) !== undefined
  return isLink ? await physical(disk, path) : path
}

/** Resolves all links as the system does: `..` leaves the link's target folder. */
const physical = async (disk: Disk, path: string): Promise<string> => {
  let [at, rest] = rooted(path)
  let links = 0
  while (rest.length > 0) {
    const [step = '', ...others] = rest
    const next = join(at, step)
    const link = step === '..' ? undefined : await disk.readlink(next).catch(() => undefined)
    if (link === undefined) [at, rest] = [next, others]
    else {
      links += 1
      if (links > LINKS_MAX) throw new SetupError(path, 'these links lead nowhere')
      const [root, steps] = isAbsolute(link) ? rooted(link) : [at, stepsOf(link)]
      ;[at, rest] = [root, [...steps, ...others]]
    }
  }
  return at
}

const rooted = (path: string): readonly [root: string, steps: readonly string[]] => {
  const { root } = parse(path)
  return [root, stepsOf(path.slice(root.length))]
}

const stepsOf = (path: string): readonly string[] =>
  path.split(sep === '/' ? '/' : /[/\\]/).filter(step => step !== '' && step !== '.')

/** Returns a file's text, empty for a missing file. Throws a SetupError for bytes that are not UTF-8. */
export const revisedTextOf = ({ path, bytes }: FileState): string => {
  try {
    return bytes === undefined ? '' : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new SetupError(path, 'this is not text in UTF-8')
  }
}

/** Reports that another program has written a file since it was read. */
export class ConflictError extends SetupError {
  constructor(path: string, what = 'another program has just changed this file') {
    super(path, `${what}: nothing was written; try again`)
  }
}

/**
 * Runs `work` while no other task or process of ours writes the file; creates its folder. Nested calls for
 * the same file are allowed. Rejects as `work` does, and with a SetupError if the file cannot be locked.
 */
export const exclusively = async <T>(disk: Disk, path: string, work: () => Promise<T>): Promise<T> => {
  await makeFolder(disk, dirname(path)).catch((thrown: unknown) => {
    throw inWords(path, 'written', thrown)
  })
  try {
    return await withFileLock(disk, path, work)
  } catch (thrown) {
    if (!(thrown instanceof LockError)) throw thrown
    if (thrown.cause !== undefined) throw inWords(path, 'written', thrown.cause)
    const fix = `end the program that writes it, or remove ${thrown.lock}, and run this again`
    throw new SetupError(path, 'another mcp-proxy has been writing this file for 30 s', 0, fix)
  }
}

/**
 * Replaces a file by one rename, so that a crash leaves the old or the new one; `undefined` removes it. Makes
 * a backup first, and calls `beforehand` with its path right before the replacement. Rejects with a
 * SetupError, without changes, if the file is read-only or the disk fails, and with a ConflictError if the
 * file differs from `state`.
 */
export const replaceFile = async (
  files: Files,
  state: FileState,
  bytes: Uint8Array | undefined,
  beforehand: (copy: string | undefined) => Promise<void> = () => Promise.resolve(),
): Promise<void> => {
  const { path, mode } = state
  if (state.bytes !== undefined && (mode & 0o222) === 0)
    throw new SetupError(path, 'this file is read-only', 0, `make ${path} writable, and run this again`)
  const backup = await keepCopy(files, state)
  await exclusively(files.disk, path, async () => {
    await removeDrafts(files.disk, path)
    await replace(files.disk, state, bytes, async () => await beforehand(backup))
  })
}

/** Suffix of temporary files, as `replace` creates them. */
const DRAFT = /^[\da-f]{12}\.tmp$/

/**
 * Removes temporary files of killed processes, which may hold keys. No other process writes this file now.
 */
const removeDrafts = async (disk: Disk, path: string): Promise<void> => {
  for (const name of await leftNextTo(disk, path, DRAFT))
    await disk.rm(join(dirname(path), name), { force: true }).catch(() => undefined)
}

/** Returns the names of sibling files that start with the file's name and end with `ending`. */
const leftNextTo = async (disk: Disk, path: string, ending: RegExp): Promise<readonly string[]> => {
  const start = `${basename(path)}.`
  const names = await disk.readdir(dirname(path)).catch(() => [])
  return names.filter(name => name.startsWith(start) && ending.test(name.slice(start.length)))
}

/**
 * Removes the temporary files and the lock that a killed process left next to a file. Never rejects; leaves
 * undeletable files and files of running processes.
 */
export const removeLeftovers = async (disk: Disk, file: string): Promise<void> => {
  try {
    const path = await target(disk, resolve(file))
    const drafts = await leftNextTo(disk, path, DRAFT)
    if (drafts.length > 0 || (await isLocked(disk, path)))
      await withFileLock(disk, path, () => removeDrafts(disk, path))
  } catch (thrown) {
    if (!(thrown instanceof LockError || thrown instanceof SetupError)) throw thrown
  }
}

const replace = async (
  disk: Disk,
  state: FileState,
  bytes: Uint8Array | undefined,
  beforehand: () => Promise<void>,
): Promise<void> => {
  const { path } = state
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    if (bytes !== undefined) await write(disk, draft, bytes, await ownerOf(disk, state))
    await beforehand()
    await checkUnchanged(disk, state)
    if (bytes === undefined) await disk.rm(path, { force: true })
    else await disk.rename(draft, path)
    await syncFolder(disk, dirname(path))
  } catch (thrown) {
    await disk.rm(draft, { force: true }).catch(() => undefined)
    throw inWords(path, 'written', thrown)
  }
}

/** Creates a folder and its parents. Node's recursive `mkdir` reports ENOENT on a read-only disk. */
const makeFolder = async (disk: Disk, folder: string): Promise<void> => {
  try {
    await makeOne(disk, folder)
  } catch (thrown) {
    if (systemCode(thrown) !== 'ENOENT' || dirname(folder) === folder) throw thrown
    await makeFolder(disk, dirname(folder))
    await makeOne(disk, folder)
  }
}

const makeOne = async (disk: Disk, folder: string): Promise<void> => {
  try {
    await disk.mkdir(folder, PRIVATE_FOLDER)
  } catch (thrown) {
    if (systemCode(thrown) === 'EEXIST') return
    // Some systems report another error for an existing folder.
    const isThere = await disk.stat(folder).then(
      () => true,
      () => false,
    )
    if (!isThere) throw thrown
  }
}

interface Owner {
  readonly mode: number
  readonly uid?: number
  readonly gid?: number
}

const ownerOf = async (disk: Disk, { path, bytes, mode }: FileState): Promise<Owner> => {
  if (bytes === undefined) return { mode }
  const { uid, gid } = await disk.stat(path)
  return { mode, uid, gid }
}

const write = async (
  disk: Disk,
  path: string,
  bytes: Uint8Array,
  { mode, uid, gid }: Owner,
): Promise<void> => {
  const handle = await disk.open(path, 'wx', PRIVATE)
  try {
    await handle.writeFile(bytes)
    // Only root may change the owner; for other users the failure does not matter.
    if (uid !== undefined && gid !== undefined) await handle.chown(uid, gid).catch(() => undefined)
    await handle.chmod(mode)
    await handle.sync()
  } catch (thrown) {
    await disk.rm(path, { force: true }).catch(() => undefined)
    throw thrown
  } finally {
    await handle.close()
  }
}

const checkUnchanged = async (disk: Disk, { path, bytes }: FileState): Promise<void> => {
  const now = await readState(disk, path)
  if (hashOf(now.bytes) !== hashOf(bytes)) throw new ConflictError(path)
}

const syncFolder = async (disk: Disk, folder: string): Promise<void> => {
  // Windows cannot sync folders, and some file systems refuse it.
  const handle = await disk.open(folder, 'r', 0).catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close().catch(() => undefined)
}

/** Backs up a file's content, if any, and keeps only the last copies per file. Rejects with a SetupError. */
export const keepCopy = async (
  { disk, backups: folder }: Files,
  { path, bytes }: FileState,
): Promise<string | undefined> => {
  if (bytes === undefined || folder === undefined) return undefined
  try {
    await makeFolder(disk, folder)
    const prefix = `${basename(path)}-${createHash('sha256').update(path).digest('hex').slice(0, 10)}-`
    const time = new Date().toISOString().replace(/[:.]/g, '-')
    const copy = join(folder, `${prefix}${time}-${randomBytes(3).toString('hex')}`)
    await write(disk, copy, bytes, { mode: PRIVATE })
    const copies = (await disk.readdir(folder)).filter(name => name.startsWith(prefix)).sort()
    for (const name of copies.slice(0, -BACKUPS_PER_FILE)) await disk.rm(join(folder, name), { force: true })
    return copy
  } catch (thrown) {
    throw inWords(path, 'written', thrown)
  }
}

const inWords = (path: string, done: 'read' | 'written', thrown: unknown): unknown => {
  const code = systemCode(thrown)
  if (code === undefined) return thrown
  const [reason, fix] = REASONS[code] ?? ['', undefined]
  const then = fix && `${fix}, and run this again`
  return new SetupError(path, `this cannot be ${done} (${code})${reason}`, 0, then)
}

const DENIED = [': this user may not', 'see whose the file and its folder are'] as const
const REASONS: Readonly<Partial<Record<string, readonly [reason: string, fix: string]>>> = {
  ENOSPC: [': the disk is full', 'make room on the disk'],
  EACCES: DENIED,
  EPERM: DENIED,
  EROFS: [': the disk is read-only', 'have it mounted for writing'],
}
