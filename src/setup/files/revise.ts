import { createHash, randomBytes } from 'node:crypto'
import { basename, dirname, join, resolve } from 'node:path'
import { systemCode } from '../../kernel/faults.js'
import { SetupError } from '../setup-error.js'
import type { Disk } from './disk.js'

/** A file as it was read: what is written in its place must know what that was. */
export interface FileState {
  /** Absolute, behind all symbolic links; the file may be missing. */
  readonly path: string
  /** Undefined if there is no such file. */
  readonly bytes: Buffer | undefined
  readonly mode: number
}

/** Where files are read and written, and where what they held before is kept. */
export interface Files {
  readonly disk: Disk
  /** The folder of backups; undefined keeps none. */
  readonly backups: string | undefined
}

const MAX_BYTES = 64 * 1024 * 1024
const PRIVATE = 0o600
const PRIVATE_FOLDER = { recursive: true, mode: 0o700 } as const
/** The most links that Linux follows on one path (path_resolution(7)). */
const LINKS_MAX = 40
const BACKUPS_PER_FILE = 20

export const hashOf = (bytes: Uint8Array | undefined): string =>
  bytes === undefined ? 'none' : createHash('sha256').update(bytes).digest('hex')

/** Reads a file, and behind links the one that they lead to. Rejects with a SetupError. */
export const readState = async (disk: Disk, file: string): Promise<FileState> => {
  const path = await target(disk, resolve(file))
  try {
    const found = await disk.stat(path)
    if (!found.isFile()) throw new SetupError(path, 'this is not a file')
    if (found.size > MAX_BYTES) throw new SetupError(path, 'this is longer than 64 MiB')
    return { path, bytes: await disk.readFile(path), mode: found.mode & 0o7777 }
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return { path, bytes: undefined, mode: PRIVATE }
    throw inWords(path, 'read', thrown)
  }
}

/** Follows the links at the end of a path, also to a file that is missing. */
const target = async (disk: Disk, path: string): Promise<string> => {
  let at = path
  for (let links = 0; links <= LINKS_MAX; links += 1) {
    const next = await disk.readlink(at).catch(() => undefined)
    if (next === undefined) return at
    at = resolve(dirname(at), next)
  }
  throw new SetupError(path, 'these links lead nowhere')
}

/** The text of a file, empty for a missing one. Throws a SetupError for bytes that are not UTF-8. */
export const textOf = ({ path, bytes }: FileState): string => {
  try {
    return bytes === undefined ? '' : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new SetupError(path, 'this is not text in UTF-8')
  }
}

/**
 * Replaces a file by one rename, so that a crash leaves the old or the new one; `undefined` removes it. A
 * copy of the old one is kept before; `beforehand` is called with its path right before the file is replaced.
 * Rejects with a SetupError, and has changed nothing then, if the file is read-only, differs from `state` by
 * now, or the disk fails.
 */
export const replaceFile = async (
  { disk, backups }: Files,
  state: FileState,
  bytes: Uint8Array | undefined,
  beforehand: (copy: string | undefined) => Promise<void> = () => Promise.resolve(),
): Promise<void> => {
  const { path, mode } = state
  if (state.bytes !== undefined && (mode & 0o222) === 0)
    throw new SetupError(path, 'this file is read-only', 0, `make ${path} writable, and run this again`)
  const draft = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const backup = await keepCopy({ disk, backups }, state)
    if (bytes !== undefined) {
      await disk.mkdir(dirname(path), PRIVATE_FOLDER)
      await write(disk, draft, bytes, await ownerOf(disk, state))
    }
    await beforehand(backup)
    await checkUnchanged(disk, state)
    if (bytes === undefined) await disk.rm(path, { force: true })
    else await disk.rename(draft, path)
    await syncFolder(disk, dirname(path))
  } catch (thrown) {
    await disk.rm(draft, { force: true }).catch(() => undefined)
    throw inWords(path, 'written', thrown)
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
    // Only root may give a file away, and only to others it matters.
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
  if (hashOf(now.bytes) === hashOf(bytes)) return
  throw new SetupError(path, 'another program has just changed this file: nothing was written; try again')
}

const syncFolder = async (disk: Disk, folder: string): Promise<void> => {
  // Windows has no such thing, and some file systems refuse it.
  const handle = await disk.open(folder, 'r', 0).catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close().catch(() => undefined)
}

/** Keeps what a file holds, if anything, and of each file the last copies only. Rejects with a SetupError. */
export const keepCopy = async (
  { disk, backups: folder }: Files,
  { path, bytes }: FileState,
): Promise<string | undefined> => {
  if (bytes === undefined || folder === undefined) return undefined
  try {
    await disk.mkdir(folder, PRIVATE_FOLDER)
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
  const [reason, mend] = REASONS[code] ?? ['', undefined]
  const then = mend && `${mend}, and run this again`
  return new SetupError(path, `this cannot be ${done} (${code})${reason}`, 0, then)
}

const DENIED = [': this user may not', 'see whose the file and its folder are'] as const
const REASONS: Readonly<Partial<Record<string, readonly [reason: string, mend: string]>>> = {
  ENOSPC: [': the disk is full', 'make room on the disk'],
  EACCES: DENIED,
  EPERM: DENIED,
  EROFS: [': the disk is read-only', 'have it mounted for writing'],
}
