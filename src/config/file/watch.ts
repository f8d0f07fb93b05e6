import { type FSWatcher, watch } from 'node:fs'
import { lstat, readlink, stat } from 'node:fs/promises'
import nodePath, { basename, join, type PlatformPath, parse, resolve, sep } from 'node:path'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { systemCode } from '../../kernel/faults.js'

export interface FileWatchOptions {
  readonly clock: Clock
  /** Called after the file, or a folder or link on its path, has changed and been quiet for a moment. */
  readonly onChange: () => void
  /** Called once, with its code, if a folder cannot be watched: changes are then found by polling. */
  readonly onUnwatchable: (code: string) => void
}

/** Editors write in several steps; changes within this time are one change. */
const QUIET_MS = 250
/** A file that keeps changing is reported after this time. */
const RESTLESS_MS = 2000
/** Network drives, containers and renamed folders on the path do not report changes. */
const POLL_MS = 5000
/** Maximum links that Linux follows on one path (path_resolution(7)). */
const LINKS_MAX = 40

/**
 * Watches a file that may be changed, replaced by rename, removed and created again, or reached over symbolic
 * links that change (as in a ConfigMap of Kubernetes). Watches folders, because a watch on a file follows the
 * replaced file. Keeps no process alive; never throws.
 */
export class FileWatch {
  /** Resolves when all changes are watched. Never rejects. */
  readonly ready: Promise<void>
  readonly #file: string
  readonly #options: FileWatchOptions
  readonly #folders = new Map<string, Folder>()
  readonly #poll: Timer
  #quiet: Timer | undefined
  #stirredMs: number | undefined
  /** The identity of the file at the last check. */
  #seen: Promise<string>
  #isChecking = false
  #isTroubled = false
  #isClosed = false

  constructor(file: string, options: FileWatchOptions) {
    this.#file = resolve(file)
    this.#options = options
    this.#seen = identityOf(this.#file)
    this.#poll = options.clock.every(POLL_MS, () => void this.#checkAgain())
    this.ready = this.#arm()
  }

  close(): void {
    this.#isClosed = true
    this.#poll.cancel()
    this.#quiet?.cancel()
    for (const { watcher } of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  /** Watches the folders that matter now, and no others. */
  async #arm(): Promise<void> {
    const places = await placesOf(this.#file)
    if (this.#isClosed) return
    for (const [path, { watcher, inode }] of this.#folders) {
      if (places.get(path)?.inode === inode) continue
      watcher.close()
      this.#folders.delete(path)
    }
    let isNew = false
    for (const [path, place] of places) {
      const known = this.#folders.get(path)
      if (known !== undefined) known.names = place.names
      else {
        this.#watch(path, place)
        isNew = true
      }
    }
    // A change before it was watched was not reported.
    if (isNew) await this.#compare()
  }

  #watch(path: string, { inode, names }: Place): void {
    try {
      const watcher = watch(path, { persistent: false })
      const folder: Folder = { watcher, inode, names }
      this.#folders.set(path, folder)
      watcher.on('change', (_kind, name) => {
        const names = [...folder.names, basename(path)]
        if (typeof name !== 'string' || names.some(each => isSamePath(each, name))) this.#stir()
      })
      watcher.on('error', thrown => {
        watcher.close()
        if (this.#folders.get(path) === folder) this.#folders.delete(path)
        this.#reportOnce(thrown)
      })
    } catch (thrown) {
      this.#reportOnce(thrown)
    }
  }

  #reportOnce(thrown: unknown): void {
    const code = systemCode(thrown) ?? 'unknown reason'
    // If a folder is gone, the one above it is watched next.
    if (this.#isClosed || code === 'ENOENT' || code === 'ENOTDIR') return
    if (!this.#isTroubled) this.#options.onUnwatchable(code)
    this.#isTroubled = true
  }

  #stir(): void {
    if (this.#isClosed) return
    const { clock } = this.#options
    const nowMs = clock.nowMs()
    this.#stirredMs ??= nowMs
    this.#quiet?.cancel()
    const restMs = this.#stirredMs + RESTLESS_MS - nowMs
    this.#quiet = clock.after(Math.max(0, Math.min(QUIET_MS, restMs)), () => {
      this.#stirredMs = undefined
      void this.#report()
    })
  }

  /** The listener reads the file after this check, so later writes are another change. */
  async #report(): Promise<void> {
    this.#seen = identityOf(this.#file)
    await this.#seen
    if (this.#isClosed) return
    void this.#arm()
    this.#options.onChange()
  }

  /** One check at a time, because it hangs on a network drive that is gone. */
  async #checkAgain(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    await this.#compare()
    await this.#arm()
    this.#isChecking = false
  }

  async #compare(): Promise<void> {
    const [before, now] = [await this.#seen, await identityOf(this.#file)]
    if (before !== now) this.#stir()
  }
}

interface Folder {
  readonly watcher: FSWatcher
  readonly inode: string
  names: ReadonlySet<string>
}

/** A folder in which a change may matter. */
interface Place {
  /** Identifies the folder, because another one may replace it at the same path. */
  readonly inode: string
  readonly names: Set<string>
}

/** Changes with the file at a path and its content; an error code if there is none. */
const identityOf = async (file: string): Promise<string> => {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(file)
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ')
  } catch (thrown) {
    return systemCode(thrown) ?? 'unknown'
  }
}

/** The folders in which a change can make a path, with its symbolic links, lead to another file. */
const placesOf = async (file: string): Promise<ReadonlyMap<string, Place>> => {
  const places = new Map<string, Place>()
  const { root } = parse(file)
  let folder = root
  let steps = stepsOf(file.slice(root.length))
  let links = 0
  for (let [step, ...rest] = steps; step !== undefined; [step, ...rest] = steps) {
    const path = join(folder, step)
    const found = await lstat(path).catch(() => undefined)
    if (found?.isDirectory() === true && rest.length > 0) {
      folder = path
      steps = rest
      continue
    }
    await addPlace(places, folder, step)
    links += 1
    const target = found?.isSymbolicLink() === true ? await readlink(path).catch(() => undefined) : undefined
    if (target === undefined || links > LINKS_MAX) break
    const whole = resolve(folder, target)
    const top = parse(whole).root
    folder = top
    steps = [...stepsOf(whole.slice(top.length)), ...rest]
  }
  return places
}

const stepsOf = (path: string): string[] => path.split(sep).filter(step => step !== '')

const addPlace = async (places: Map<string, Place>, folder: string, name: string): Promise<void> => {
  const known = places.get(folder)
  if (known !== undefined) {
    known.names.add(name)
    return
  }
  const found = await stat(folder).catch(() => undefined)
  if (found !== undefined) places.set(folder, { inode: `${found.dev} ${found.ino}`, names: new Set([name]) })
}

/** Compares two paths, on Windows without case and with any slash. Follows no links. */
export const isSamePath = (one: string, other: string, system: PlatformPath = nodePath): boolean =>
  system.relative(one, other) === ''
