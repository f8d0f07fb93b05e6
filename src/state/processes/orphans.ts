import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import { isNamedPipe } from '../../kernel/machine/socket-path.js'
import { objectIn } from '../../kernel/object.js'
import { placeOf, thisPlace } from '../../shim/place.js'
import { endRecorded, findRecorded, hasRunSince, MARK_VARIABLE } from '../../transport/process/orphans.js'
import { type ProcessRow, type ProcessTable, processTable } from '../../transport/process/process-table.js'
import { processExists, processTree } from '../../transport/process/process-tree.js'
import { removeStale } from '../../transport/socket/bind.js'
import { Instance, type InstanceRecord, type OwnFacts, readRecords, recordFolder } from '../instance.js'
import { readPrivate, removePrivate } from '../private-file.js'
import { stateDir } from '../state-key.js'
import { stopContainer } from './containers.js'

/** @internal */
export interface OrphanOptions {
  readonly folder: string
  readonly table: ProcessTable
  readonly clock: Clock
  readonly log: Logger
}

/** Lifetime of the record of an invisible proxy after its last change. */
const STALE_MS = 30 * 24 * 3_600_000
const FACTS_BYTES = 64 * 1024

/**
 * Returns true if the proxy of a record still runs. Decides by process id if processes cannot be listed.
 * @internal
 */
export const isAlive = (record: InstanceRecord, rows: readonly ProcessRow[]): boolean =>
  isBlind(rows) ? processExists(record.pid) : rows.some(row => row.pid === record.pid && isThat(record, row))

const isBlind = (rows: readonly ProcessRow[]): boolean => !rows.some(row => row.pid === process.pid)

/** Returns true if a process with the id of a proxy is that proxy. */
const isThat = ({ born, startedAt }: InstanceRecord, row: ProcessRow): boolean => {
  if (row.bornMs !== undefined) return hasRunSince(row, Date.parse(startedAt))
  return born === undefined || row.born === born
}

/** Ends leftover processes of killed proxies on this machine. Never rejects. @internal */
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
          log.warn({ of: record.pid }, 'cannot list processes to end the servers of a killed proxy')
          await removeIfStale(file)
        } else {
          await endLeftBy(record, options)
          await removeWithDrafts(recordFolder(folder), `${record.mark}.json`)
          await removePlace(record)
        }
      }),
    )
  } catch (thrown) {
    log.debug({ err: thrown }, 'cannot look for leftover servers of earlier proxies')
  }
}

/** A newer proxy of the same configuration may own the socket and the facts file by now. */
const removePlace = async ({ mark, pid, socket, token }: InstanceRecord): Promise<void> => {
  if (token?.endsWith(`${mark}.token`) === true) await removePrivate(token)
  if (socket !== undefined) await removeSocket(socket, { mark, pid })
}

const removeSocket = async (
  socket: string,
  { mark, pid }: Pick<InstanceRecord, 'mark' | 'pid'>,
): Promise<void> => {
  if (socket.endsWith(`${mark}.sock`)) await removePrivate(socket)
  else if (!isNamedPipe(socket)) await removeStale(socket).catch(() => undefined)
  const id = /[^/\\]*?(?=(?:\.sock)?$)/.exec(socket)?.[0] ?? ''
  for (const facts of new Set([join(dirname(socket), `${id}.json`), placeOf(id, process.env).facts])) {
    if (objectIn(readPrivate(facts, FACTS_BYTES)?.toString() ?? '')?.['pid'] === pid)
      await removePrivate(facts)
  }
}

/** Removes a record and the drafts of a proxy that was killed during a write. */
const removeWithDrafts = async (folder: string, name: string): Promise<void> => {
  const names = (await readdir(folder)).filter(one => one === name || one.startsWith(`${name}.`))
  await Promise.all(names.map(one => removePrivate(join(folder, one))))
}

const endLeftBy = async (record: InstanceRecord, { table, clock, log }: OrphanOptions): Promise<void> => {
  const recorded = { ...record, untilMs: Date.parse(record.writtenAt) }
  const pids = await endRecorded(recorded, { table, clock, tree: processTree({ log }) })
  if (pids.length > 0) log.warn({ pids, of: record.pid }, 'ended the servers of a killed proxy')
  await Promise.all((record.containers ?? []).map(container => stopContainer(container, log)))
}

/** Returns true if we descend from a server of that proxy. */
const isOurAncestor = ({ mark }: InstanceRecord): boolean => process.env[MARK_VARIABLE] === mark

const removeIfStale = async (file: string): Promise<void> => {
  const { mtimeMs } = await stat(file)
  if (Date.now() - mtimeMs > STALE_MS) await removePrivate(file)
}

/** Returns this user's running proxies on this machine, newest first. */
export const runningProxies = async (): Promise<InstanceRecord[]> => {
  const records = await readRecords(recordFolder(stateDir(process.env)))
  if (records.length === 0) return []
  const [rows, place] = [await processTable().rows(), thisPlace()]
  return records
    .filter(record => record.place === place && isAlive(record, rows))
    .sort((one, other) => other.startedAt.localeCompare(one.startedAt))
}

/** A leftover process of a killed proxy, with its start time to recognize a reused id. */
export interface Leftover {
  readonly pid: number
  readonly born: string | undefined
}

/** Returns the leftover processes of this user's killed proxies. Ends nothing. */
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

/** Starts to end the leftovers of earlier proxies and to record this one. Does not wait. */
export const registerInstance = (options: OwnFacts): Instance => {
  const folder = stateDir(process.env)
  const context = { ...options, folder, table: processTable(), clock: systemClock }
  void endOrphans(context)
  return new Instance(context)
}
