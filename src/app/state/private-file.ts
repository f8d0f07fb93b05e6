import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { unguessableId } from '../../kernel/ids.js'

const OTHERS_MAY_WRITE = 0o022

/**
 * Whether a file or folder is this user's, and nobody else may do with it what `forbidden` says, which is to write to it. On Windows modes
 * say nothing; who may write there is said by the folder of its user.
 */
export const isPrivate = (
  { uid, mode }: { readonly uid: number; readonly mode: number },
  forbidden = OTHERS_MAY_WRITE,
): boolean => process.platform === 'win32' || (uid === process.getuid?.() && !(mode & forbidden))

/** Puts a file there whole or not at all, and its folder, for nobody else to read. Rejects with what the file system throws. */
export const writePrivate = async (file: string, bytes: string | Uint8Array): Promise<void> => {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${unguessableId()}`
  try {
    await writeFile(draft, bytes, { mode: 0o600, flag: 'wx' })
    await whenReleased(() => rename(draft, file))
  } catch (thrown) {
    await rm(draft, { force: true })
    throw thrown
  }
}

/** Removes a file, if it is there. Rejects with what the file system throws. */
export const removePrivate = (file: string): Promise<void> => whenReleased(() => rm(file, { force: true }))

/** How Windows refuses to replace or remove a file that somebody has open. */
const HELD: ReadonlySet<unknown> = new Set(['EACCES', 'EBUSY', 'EPERM'])
/** A virus scanner, or another proxy that reads it, is done in a moment. */
const WAITS_MS = [10, 20, 50, 100, 200, 400]

/** Does something to a file that another program may hold open for a moment, which only Windows minds: tries again until it has let go. */
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
      if (!(thrown instanceof Error && 'code' in thrown && HELD.has(thrown.code))) throw thrown
      await wait(delayMs)
    }
  }
  return await work()
}
