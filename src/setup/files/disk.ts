import { accessSync, constants } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, readdir, readFile, readlink, rename, rm, stat } from 'node:fs/promises'

/** The file system operations of this room; tests replace them with failing ones. */
export interface Disk {
  readonly mkdir: (path: string, options: { mode: number }) => Promise<unknown>
  readonly open: (path: string, flags: string, mode: number) => Promise<FileHandle>
  readonly readdir: (path: string) => Promise<string[]>
  readonly readFile: (path: string) => Promise<Buffer>
  readonly readlink: (path: string) => Promise<string>
  readonly rename: (from: string, to: string) => Promise<void>
  readonly rm: (path: string, options: { force: true }) => Promise<void>
  readonly stat: (path: string) => Promise<{
    mode: number
    mtimeMs: number
    ctimeMs?: number
    ino?: number
    size: number
    uid: number
    gid: number
    isFile(): boolean
  }>
}

export const systemDisk: Disk = { mkdir, open, readdir, readFile, readlink, rename, rm, stat }

/** Returns whether this user may write an existing file or folder. */
export const mayWrite = (path: string): boolean => {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
