import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Logger } from '../../kernel/logger.js'
import type { RecordedChild } from '../../transport/process/orphans.js'
import type { ProcessTable } from '../../transport/process/process-table.js'
import type { Children } from '../processes/children.js'
import { isPrivate, removePrivate, writePrivate } from './private-file.js'

/** What a running proxy writes down about itself, one file each, for `status` and for whoever comes after it. */
export interface InstanceRecord {
  readonly version: 1
  /** See `Children.mark`; also the name of the file. */
  readonly mark: string
  /** The machine, or container, where its process ids mean something. */
  readonly place: string
  readonly pid: number
  /** See `ProcessRow`. */
  readonly born: string | undefined
  /** As ISO 8601 has it. */
  readonly startedAt: string
  /** When all its children still were what the record says, also as ISO 8601 has it. */
  readonly writtenAt: string
  /** The word on its command line. */
  readonly verb: string
  /** Where it can be asked how it is; undefined if it listens on no port. */
  readonly url: string | undefined
  readonly config: string | undefined
  readonly children: readonly RecordedChild[]
}

/** The folder of the records. */
export const recordFolder = (stateDir: string): string => join(stateDir, 'instances')

/** Where the process ids that we see mean something: containers that share a home folder do not see each other's. */
export const thisPlace = async (): Promise<string> =>
  `${hostname()} ${await readlink('/proc/self/ns/pid').catch(() => process.platform)}`

const MARK = /^[A-Za-z0-9_-]{22}$/
/** More records than this are surely not ours to read one by one. */
const MAX_RECORDS = 1000
const MAX_BYTES = 1024 * 1024

/** All records in the folder that are fit to be trusted; a folder that cannot be read holds none. */
export const readRecords = async (folder: string): Promise<InstanceRecord[]> => {
  const names = await readdir(folder).catch(() => [])
  const marks = names.filter(name => name.endsWith('.json')).map(name => name.slice(0, -'.json'.length))
  const known = marks.filter(mark => MARK.test(mark)).slice(0, MAX_RECORDS)
  const records = await Promise.all(known.map(mark => readRecord(join(folder, `${mark}.json`), mark)))
  return records.filter(record => record !== undefined)
}

const readRecord = async (file: string, mark: string): Promise<InstanceRecord | undefined> => {
  try {
    const found = await lstat(file)
    if (!isPrivate(found) || found.size > MAX_BYTES) return undefined
    const record = parseRecord(await readFile(file, 'utf8'))
    return record?.mark === mark ? record : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

const isPid = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 1

const textAt = (value: Record<string, unknown>, key: string): string | undefined => {
  const text = value[key]
  return typeof text === 'string' ? text : undefined
}

/** What stands in a file of ours; undefined for anything else, of a later version or broken. Throws for what is no JSON. */
export const parseRecord = (text: string): InstanceRecord | undefined => {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || value['version'] !== 1) return undefined
  const [mark, place, startedAt, verb] = ['mark', 'place', 'startedAt', 'verb'].map(key => textAt(value, key))
  const { pid, children } = value
  if (mark === undefined || place === undefined || startedAt === undefined || verb === undefined)
    return undefined
  if (!isPid(pid) || !Array.isArray(children)) return undefined
  return {
    version: 1,
    mark,
    place,
    pid,
    born: textAt(value, 'born'),
    startedAt,
    writtenAt: textAt(value, 'writtenAt') ?? startedAt,
    verb,
    url: textAt(value, 'url'),
    config: textAt(value, 'config'),
    children: children.flatMap(parseChild),
  }
}

const parseChild = (child: unknown): readonly RecordedChild[] => {
  if (!isObject(child) || !isPid(child['pid'])) return []
  const { pid, sinceMs } = child
  return [{ pid, sinceMs: typeof sinceMs === 'number' ? sinceMs : Number.NaN, born: textAt(child, 'born') }]
}

/** What is written down beside what we can find out ourselves. */
interface InstanceFacts {
  readonly verb: string
  readonly url: string | undefined
  readonly config: string | undefined
}

/** What the record is made of, and where it goes. */
export interface InstanceOptions {
  readonly facts: InstanceFacts
  readonly children: Children
  readonly log: Logger
  /** The state folder. */
  readonly folder: string
  readonly table: ProcessTable
}

/**
 * Our own record, kept up to date while we run and removed when we end in order. A disk that cannot be written to costs the
 * record and nothing else.
 */
export class Instance {
  readonly #options: InstanceOptions
  readonly #file: string
  readonly #startedAt = new Date().toISOString()
  /** When the children began: asked for once, right after their start. */
  readonly #born = new Map<number, string | undefined>()
  #writing: Promise<void> | undefined
  #isDirty = false
  #isClosed = false

  constructor(options: InstanceOptions) {
    const { children, folder } = options
    this.#options = options
    this.#file = join(recordFolder(folder), `${children.mark}.json`)
    children.onChange = () => this.#changed()
    this.#changed()
  }

  /** Resolves when what is known is on the disk. */
  get written(): Promise<void> {
    return this.#writing ?? Promise.resolve()
  }

  /** All children were ended: there is nothing to clean up after us. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writing
    await removePrivate(this.#file).catch(() => undefined)
  }

  #changed(): void {
    this.#isDirty = true
    if (!this.#isClosed) this.#writing ??= this.#writeAll()
  }

  /** Whatever changes while one is written is in the next. */
  async #writeAll(): Promise<void> {
    try {
      while (this.#isDirty && !this.#isClosed) {
        this.#isDirty = false
        await writePrivate(this.#file, JSON.stringify(await this.#record()))
      }
    } catch (thrown) {
      this.#options.log.debug({ err: thrown }, 'the record of this proxy could not be written')
    }
    this.#writing = undefined
  }

  async #record(): Promise<InstanceRecord> {
    const { children, facts, table } = this.#options
    const { starts } = children
    const writtenAt = new Date().toISOString()
    const pids = [process.pid, ...starts.map(([pid]) => pid)]
    for (const pid of this.#born.keys()) if (!pids.includes(pid)) this.#born.delete(pid)
    const unknown = pids.filter(pid => !this.#born.has(pid))
    if (unknown.length > 0) {
      const births = await table.births(unknown)
      for (const pid of unknown) this.#born.set(pid, births.get(pid))
    }
    return {
      version: 1,
      mark: children.mark,
      place: await thisPlace(),
      pid: process.pid,
      born: this.#born.get(process.pid),
      startedAt: this.#startedAt,
      writtenAt,
      ...facts,
      children: starts.map(([pid, sinceMs]) => ({ pid, sinceMs, born: this.#born.get(pid) })),
    }
  }
}
