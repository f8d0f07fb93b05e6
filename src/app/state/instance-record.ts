import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { RecordedChild } from '../../transport/process/orphans.js'
import { isPrivate } from './private-file.js'

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
