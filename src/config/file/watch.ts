import { type FSWatcher, watch } from 'node:fs'
import { lstat, readlink, stat } from 'node:fs/promises'
import { basename, join, parse, resolve, sep } from 'node:path'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { isSamePath } from './same-path.js'

/** What watching needs, and what it reports to. */
export interface FileWatchOptions {
  readonly clock: Clock
  /** Something happened to the file, or to what its path leads over; told when it has been quiet for a moment. */
  readonly onChange: () => void
  /** The system watches no further folder for us (told once, with its code): changes are found out later, by looking. */
  readonly onTrouble: (code: string) => void
}

/** A file that is watched until this is closed. */
export interface FileWatch {
  /** Resolves when whatever happens from then on is heard of. Never rejects. */
  readonly ready: Promise<void>
  close(): void
}

/** Editors write in several steps: what follows each other so closely is one change. */
const QUIET_MS = 250
/** A file that never comes to rest is looked at all the same. */
const RESTLESS_MS = 2000
/**
 * How often we look ourselves: network drives and containers do not tell of changes made elsewhere, and nobody tells when a
 * folder on the way to the file is renamed.
 */
const LOOK_MS = 5000
/** What Linux allows on one path (path_resolution(7)). */
const LINKS_MAX = 40

/**
 * Watches a file wherever it goes: changed, replaced by rename, removed and made again, reached over symbolic links that are
 * changed (as Kubernetes does with mounted ConfigMaps). Watches the folders, because a watch on a file stays with the
 * file that was there first. Keeps no process alive; never throws.
 */
export const watchFile = (file: string, options: FileWatchOptions): FileWatch => new Watching(file, options)

class Watching implements FileWatch {
  readonly ready: Promise<void>
  readonly #file: string
  readonly #options: FileWatchOptions
  readonly #folders = new Map<string, Folder>()
  readonly #look: Timer
  #quiet: Timer | undefined
  #stirredMs: number | undefined
  /** What the file was when we last looked. */
  #seen: Promise<string>
  #isLooking = false
  #isTroubled = false
  #isClosed = false

  constructor(file: string, options: FileWatchOptions) {
    this.#file = resolve(file)
    this.#options = options
    this.#seen = identityOf(this.#file)
    this.#look = options.clock.every(LOOK_MS, () => void this.#lookAgain())
    this.ready = this.#arm()
  }

  close(): void {
    this.#isClosed = true
    this.#look.cancel()
    this.#quiet?.cancel()
    for (const { watcher } of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  /** Watches the folders that count now, and no others. */
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
    // Whatever happened before it was watched was not heard of.
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
        this.#trouble(thrown)
      })
    } catch (thrown) {
      this.#trouble(thrown)
    }
  }

  #trouble(thrown: unknown): void {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown reason'
    // A folder that is gone is no trouble: the one above it is watched next.
    if (this.#isClosed || code === 'ENOENT' || code === 'ENOTDIR') return
    if (!this.#isTroubled) this.#options.onTrouble(code)
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
      void this.#tell()
    })
  }

  /** Whoever is told reads the file after it was looked at: what is written later than that is another change. */
  async #tell(): Promise<void> {
    this.#seen = identityOf(this.#file)
    await this.#seen
    if (this.#isClosed) return
    void this.#arm()
    this.#options.onChange()
  }

  /** A look that hangs, as on a network drive that is gone, is not followed by another. */
  async #lookAgain(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    await this.#compare()
    await this.#arm()
    this.#isLooking = false
  }

  async #compare(): Promise<void> {
    const [before, now] = [await this.#seen, await identityOf(this.#file)]
    if (before !== now) this.#stir()
  }
}

interface Folder {
  readonly watcher: FSWatcher
  readonly inode: string
  /** What in it is of interest. */
  names: ReadonlySet<string>
}

/** A folder that something may happen in. */
interface Place {
  /** Tells it from another of the same path. */
  readonly inode: string
  readonly names: Set<string>
}

/** Whether it is another file than before, or changed; why it cannot be looked at if so. */
const identityOf = async (file: string): Promise<string> => {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = await stat(file)
    return [dev, ino, size, mtimeMs, ctimeMs].join(' ')
  } catch (thrown) {
    return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown'
  }
}

/**
 * The folders in which a change can make a path lead to another file: that of the file, and those of all symbolic links on the
 * way; where the path breaks off, the last folder that there is.
 */
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
