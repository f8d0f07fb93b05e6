import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import { objectIn } from '../../kernel/object.js'
import { isNamedPipe } from '../../machine/socket-path.js'
import { placeOf, thisPlace } from '../../shim/place.js'
import { endRecorded, findRecorded, hasRunSince, MARK_VARIABLE } from '../../transport/process/orphans.js'
import { type ProcessRow, type ProcessTable, processTable } from '../../transport/process/process-table.js'
import { processExists, processTree } from '../../transport/process/process-tree.js'
import { removeStale } from '../../transport/socket/bind.js'
import { Instance, type InstanceRecord, type OwnFacts, readRecords, recordFolder } from '../instance.js'
import { readPrivate, removePrivate } from '../private-file.js'
import { stateDir } from '../state-key.js'

/** @internal */
export interface OrphanOptions {
  readonly folder: string
  readonly table: ProcessTable
  readonly clock: Clock
  readonly log: Logger
}

/** How long the record of a proxy that we cannot see is kept after its last change. */
const STALE_MS = 30 * 24 * 3_600_000
const FACTS_BYTES = 64 * 1024

/** Whether the proxy of a record still runs. If processes cannot be listed, its id decides. @internal */
export const isAlive = (record: InstanceRecord, rows: readonly ProcessRow[]): boolean =>
  isBlind(rows) ? processExists(record.pid) : rows.some(row => row.pid === record.pid && isThat(record, row))

const isBlind = (rows: readonly ProcessRow[]): boolean => !rows.some(row => row.pid === process.pid)

/** Whether a process with the id of a proxy is that proxy. */
const isThat = ({ born, startedAt }: InstanceRecord, row: ProcessRow): boolean => {
  if (row.bornMs !== undefined) return hasRunSince(row, Date.parse(startedAt))
  return born === undefined || row.born === born
}

/** Ends what killed proxies left on this machine. Never rejects. @internal */
export const endOrphans = async (options: OrphanOptions): Promise<void> => {
  const { folder, table, log } = options
  try {
    const records = await readRecords(recordFolder(folder))
    if (records.length === 0) return
    const [rows, place] = [await table.rows(), thisPlace()]
    await Promise.all(
      records.map(async record => {
        const file = join(recordFolder(folder), `${record.mark}.json`)
        if (record.place !== place) await removeIfStale(file)
        else if (isAlive(record, rows) || isOurAncestor(record)) return
        else if (isBlind(rows)) {
          log.warn(
            { of: record.pid },
            'cannot list processes: servers that a killed proxy left behind are not ended',
          )
          await removeIfStale(file)
        } else {
          await endLeftBy(record, options)
          await removeWithDrafts(recordFolder(folder), `${record.mark}.json`)
          await removePlace(record)
        }
      }),
    )
  } catch (thrown) {
    log.debug({ err: thrown }, 'cannot look for servers that earlier proxies left behind')
  }
}

/** The socket of a configuration may be that of whoever serves it now, and so may what it says of itself. */
const removePlace = async ({ mark, pid, socket }: InstanceRecord): Promise<void> => {
  if (socket === undefined) return
  if (socket.endsWith(`${mark}.sock`)) await removePrivate(socket)
  else if (!isNamedPipe(socket)) await removeStale(socket).catch(() => undefined)
  const id = /[^/\\]*?(?=(?:\.sock)?$)/.exec(socket)?.[0] ?? ''
  for (const facts of new Set([join(dirname(socket), `${id}.json`), placeOf(id, process.env).facts])) {
    if (objectIn(readPrivate(facts, FACTS_BYTES)?.toString() ?? '')?.['pid'] === pid)
      await removePrivate(facts)
  }
}

/** Removes a record with its drafts, which a proxy leaves that is killed while it writes. */
const removeWithDrafts = async (folder: string, name: string): Promise<void> => {
  const names = (await readdir(folder)).filter(one => one === name || one.startsWith(`${name}.`))
  await Promise.all(names.map(one => removePrivate(join(folder, one))))
}

const endLeftBy = async (record: InstanceRecord, { table, clock, log }: OrphanOptions): Promise<void> => {
  const recorded = { ...record, untilMs: Date.parse(record.writtenAt) }
  const pids = await endRecorded(recorded, { table, clock, tree: processTree({ log }) })
  if (pids.length > 0) log.warn({ pids, of: record.pid }, 'ended servers that a killed proxy left behind')
}

/** Whether we were started by a server of that proxy, or are one. */
const isOurAncestor = ({ mark }: InstanceRecord): boolean => process.env[MARK_VARIABLE] === mark

const removeIfStale = async (file: string): Promise<void> => {
  const { mtimeMs } = await stat(file)
  if (Date.now() - mtimeMs > STALE_MS) await removePrivate(file)
}

/** Lists this user's running proxies on this machine, the newest first. */
export const runningProxies = async (): Promise<InstanceRecord[]> => {
  const records = await readRecords(recordFolder(stateDir(process.env)))
  if (records.length === 0) return []
  const [rows, place] = [await processTable().rows(), thisPlace()]
  return records
    .filter(record => record.place === place && isAlive(record, rows))
    .sort((one, other) => other.startedAt.localeCompare(one.startedAt))
}

/** A process that a killed proxy has left, with what tells it from a later one with its id. */
export interface Leftover {
  readonly pid: number
  readonly born: string | undefined
}

/** What killed proxies of this user have left on this machine; nothing is ended. */
export const leftovers = async (): Promise<readonly Leftover[]> => {
  const records = await readRecords(recordFolder(stateDir(process.env)))
  if (records.length === 0) return []
  const table = processTable()
  const [rows, place] = [await table.rows(), thisPlace()]
  if (isBlind(rows)) return []
  const dead = records.filter(
    record => record.place === place && !isAlive(record, rows) && !isOurAncestor(record),
  )
  const found = await Promise.all(
    dead.map(record => {
      const recorded = { ...record, untilMs: Date.parse(record.writtenAt) }
      return findRecorded(recorded, { table, clock: systemClock })
    }),
  )
  const born = new Map(rows.map(row => [row.pid, row.born]))
  return [...new Set(found.flat())].map(pid => ({ pid, born: born.get(pid) }))
}

/** Ends what earlier proxies left behind, and keeps a record of this one. Waits for neither. */
export const registerInstance = (options: OwnFacts): Instance => {
  const folder = stateDir(process.env)
  const context = { ...options, folder, table: processTable(), clock: systemClock }
  void endOrphans(context)
  return new Instance(context)
}
