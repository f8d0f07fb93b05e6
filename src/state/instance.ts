import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Deferred } from '../kernel/async/deferred.js'
import type { Logger } from '../kernel/logger.js'
import { isObject } from '../kernel/object.js'
import { thisPlace } from '../shim/place.js'
import type { RecordedChild } from '../transport/process/orphans.js'
import type { ProcessTable } from '../transport/process/process-table.js'
import { readPrivate, removePrivate, writePrivate } from './private-file.js'
import type { Children } from './processes/children.js'
import { parseContainer, type RecordedContainer } from './processes/containers.js'

/** The record of a running proxy, for `status` and for later proxies. */
export interface InstanceRecord {
  readonly version: 1
  /** See `Children.mark`. Also the name of the file. */
  readonly mark: string
  /** The system on which its process ids are valid; see `thisPlace`. */
  readonly place: string
  /** 1 for the first process of a container. */
  readonly pid: number
  /** See `ProcessRow`. */
  readonly born: string | undefined
  readonly startedAt: string
  /** Time of the last correct list of children; ISO 8601. */
  readonly writtenAt: string
  /** The subcommand of its command line. */
  readonly verb: string
  readonly url: string | undefined
  readonly config: string | undefined
  /** The private socket, and the file that proves its owner, if any. */
  readonly socket: string | undefined
  readonly token?: string | undefined
  readonly children: readonly RecordedChild[]
  /** Undefined if there are none. */
  readonly containers?: readonly RecordedContainer[]
}

export const recordFolder = (stateDir: string): string => join(stateDir, 'instances')

const MARK = /^[A-Za-z0-9_-]{22}$/
const MAX_RECORDS = 1000
const MAX_BYTES = 1024 * 1024

/** Returns the trusted records in the folder. Empty if the folder cannot be read. */
export const readRecords = async (folder: string): Promise<InstanceRecord[]> => {
  const names = await readdir(folder).catch(() => [])
  const marks = names.filter(name => name.endsWith('.json')).map(name => name.slice(0, -'.json'.length))
  const known = marks.filter(mark => MARK.test(mark)).slice(0, MAX_RECORDS)
  return known.flatMap(mark => readRecord(join(folder, `${mark}.json`), mark) ?? [])
}

const readRecord = (file: string, mark: string): InstanceRecord | undefined => {
  try {
    const record = parseRecord(readPrivate(file, MAX_BYTES)?.toString() ?? '')
    return record?.mark === mark ? record : undefined
  } catch {
    return undefined
  }
}

const isPid = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 1

const textAt = (value: Record<string, unknown>, key: string): string | undefined => {
  const text = value[key]
  return typeof text === 'string' ? text : undefined
}

/** Returns undefined for a broken record or another version. Throws for invalid JSON. @internal */
export const parseRecord = (text: string): InstanceRecord | undefined => {
  const value: unknown = JSON.parse(text)
  if (!isObject(value) || value['version'] !== 1) return undefined
  const [mark, place, startedAt, verb] = ['mark', 'place', 'startedAt', 'verb'].map(key => textAt(value, key))
  const { pid, children } = value
  if (mark === undefined || place === undefined || startedAt === undefined || verb === undefined)
    return undefined
  // Process 1 is plausible only in our own container.
  const isFirst = pid === 1 && place === thisPlace()
  if (!(isFirst || isPid(pid)) || !Array.isArray(children)) return undefined
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
    socket: textAt(value, 'socket'),
    token: textAt(value, 'token'),
    children: children.flatMap(parseChild),
    ...containersIn(value['containers']),
  }
}

const containersIn = (value: unknown): Pick<InstanceRecord, 'containers'> =>
  Array.isArray(value) ? { containers: value.flatMap(each => parseContainer(each) ?? []) } : {}

const parseChild = (child: unknown): readonly RecordedChild[] => {
  if (!isObject(child) || !isPid(child['pid'])) return []
  const { pid, sinceMs } = child
  return [{ pid, sinceMs: typeof sinceMs === 'number' ? sinceMs : Number.NaN, born: textAt(child, 'born') }]
}

interface InstanceFacts {
  readonly verb: string
  readonly url: string | undefined
  readonly config: string | undefined
  readonly socket: string | undefined
  readonly token?: string | undefined
}

/** The facts about this proxy for its record. */
export interface OwnFacts {
  readonly facts: InstanceFacts
  readonly children: Children
  readonly log: Logger
}

interface InstanceOptions extends OwnFacts {
  readonly folder: string
  readonly table: ProcessTable
  readonly clock: Clock
}

/** Merges changes into one write: several programs start at once and use the CPU. */
const MERGE_MS = 200

/** Keeps the record of this proxy up to date until closed. Disk failures lose only the record. */
export class Instance {
  readonly #options: InstanceOptions
  readonly #file: string
  readonly #startedAt = new Date().toISOString()
  /** Start times of processes, each looked up once, right after the start. */
  readonly #born = new Map<number, string | undefined>()
  #writing: Promise<void> | undefined
  readonly #closing = new Deferred<undefined>()
  #isDirty = false
  #isClosed = false

  constructor(options: InstanceOptions) {
    const { children, folder } = options
    this.#options = options
    this.#file = join(recordFolder(folder), `${children.mark}.json`)
    children.onChange = () => this.#changed()
    this.#changed()
  }

  /** Resolves once the record is up to date. */
  get written(): Promise<void> {
    return this.#writing ?? Promise.resolve()
  }

  /** Removes the record. Call after all children have ended. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#closing.resolve(undefined)
    await this.#writing
    await removePrivate(this.#file).catch(() => undefined)
  }

  #changed(): void {
    this.#isDirty = true
    if (!this.#isClosed) this.#writing ??= this.#writeAll()
  }

  /** Merges changes during and shortly after a write into the next one. */
  async #writeAll(): Promise<void> {
    try {
      while (this.#isDirty && !this.#isClosed) {
        this.#isDirty = false
        await writePrivate(this.#file, JSON.stringify(await this.#record()))
        await within(this.#closing.promise, { clock: this.#options.clock, ms: MERGE_MS })
      }
    } catch (thrown) {
      this.#options.log.debug({ err: thrown }, 'cannot write the record of this proxy')
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
      place: thisPlace(),
      pid: process.pid,
      born: this.#born.get(process.pid),
      startedAt: this.#startedAt,
      writtenAt,
      ...facts,
      children: starts.map(([pid, sinceMs]) => ({ pid, sinceMs, born: this.#born.get(pid) })),
      ...(children.containers.length > 0 && { containers: children.containers }),
    }
  }
}
