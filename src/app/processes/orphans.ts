import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import { endRecorded, hasRunSince, MARK_VARIABLE } from '../../transport/process/orphans.js'
import { type ProcessRow, type ProcessTable, processTable } from '../../transport/process/process-table.js'
import { isUsed, processTree } from '../../transport/process/process-tree.js'
import {
  Instance,
  type InstanceOptions,
  type InstanceRecord,
  readRecords,
  recordFolder,
  thisPlace,
} from '../state/instance.js'
import { removePrivate } from '../state/private-file.js'
import { stateDir } from '../state/state-key.js'

/** Where to look, and with what. */
export interface OrphanOptions {
  /** The state folder. */
  readonly folder: string
  readonly table: ProcessTable
  readonly clock: Clock
  readonly log: Logger
}

/** A record of another machine or container that has not changed for so long is of no use to anybody. */
const STALE_MS = 30 * 24 * 3_600_000

/**
 * Whether the proxy that wrote a record still runs; `rows` are the processes of this place. Who cannot see them (Windows lets
 * PowerShell alone do that, and administrators may not) takes the word of the number.
 */
export const isAlive = (record: InstanceRecord, rows: readonly ProcessRow[]): boolean =>
  isBlind(rows) ? isUsed(record.pid) : rows.some(row => row.pid === record.pid && isThat(record, row))

const isBlind = (rows: readonly ProcessRow[]): boolean => !rows.some(row => row.pid === process.pid)

/** Whether a process with the number of a proxy is that proxy. */
const isThat = ({ born, startedAt }: InstanceRecord, row: ProcessRow): boolean => {
  if (row.bornMs !== undefined) return hasRunSince(row, Date.parse(startedAt))
  return born === undefined || row.born === born
}

/**
 * Ends the children of earlier proxies that were killed before they, or their death guard, could do it. Records of proxies
 * that still run, or that ran on another machine, are left alone. Never rejects.
 */
export const endOrphans = async (options: OrphanOptions): Promise<void> => {
  const { folder, table, log } = options
  try {
    const [records, place] = await Promise.all([readRecords(recordFolder(folder)), thisPlace()])
    if (records.length === 0) return
    const rows = await table.rows()
    await Promise.all(
      records.map(async record => {
        const file = join(recordFolder(folder), `${record.mark}.json`)
        if (record.place !== place) await removeIfStale(file)
        else if (isAlive(record, rows) || isOurForebear(record)) return
        else if (isBlind(rows)) {
          log.warn(
            { of: record.pid },
            'what runs here cannot be seen: what a killed proxy may have left stays',
          )
          await removeIfStale(file)
        } else {
          await endLeftBy(record, options)
          await removeWithDrafts(recordFolder(folder), `${record.mark}.json`)
        }
      }),
    )
  } catch (thrown) {
    log.debug({ err: thrown }, 'could not look for what earlier proxies left')
  }
}

/** A proxy that is killed while it writes its record leaves a draft beside it. */
const removeWithDrafts = async (folder: string, name: string): Promise<void> => {
  const names = (await readdir(folder)).filter(one => one === name || one.startsWith(`${name}.`))
  await Promise.all(names.map(one => removePrivate(join(folder, one))))
}

const endLeftBy = async (record: InstanceRecord, { table, clock, log }: OrphanOptions): Promise<void> => {
  const brood = { ...record, untilMs: Date.parse(record.writtenAt) }
  const pids = await endRecorded(brood, { table, clock, tree: processTree({ log }) })
  if (pids.length > 0) log.warn({ pids, of: record.pid }, 'ended what a killed proxy had left')
}

/** Whether we run among the children of that proxy ourselves, as the server of a client that it had. */
const isOurForebear = ({ mark }: InstanceRecord): boolean => process.env[MARK_VARIABLE] === mark

const removeIfStale = async (file: string): Promise<void> => {
  const { mtimeMs } = await stat(file)
  if (Date.now() - mtimeMs > STALE_MS) await removePrivate(file)
}

/** The proxies of this user that run on this machine, the youngest first. */
export const runningProxies = async (): Promise<InstanceRecord[]> => {
  const records = await readRecords(recordFolder(stateDir(process.env)))
  if (records.length === 0) return []
  const [place, rows] = await Promise.all([thisPlace(), processTable().rows()])
  return records
    .filter(record => record.place === place && isAlive(record, rows))
    .sort((one, other) => other.startedAt.localeCompare(one.startedAt))
}

/** Ends what earlier proxies left, and keeps a record of this one until it is closed. Neither is waited for. */
export const registerInstance = (options: Omit<InstanceOptions, 'folder' | 'table'>): Instance => {
  const context = { ...options, folder: stateDir(process.env), table: processTable() }
  void endOrphans({ ...context, clock: systemClock })
  return new Instance(context)
}
