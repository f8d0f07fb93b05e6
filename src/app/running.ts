import { processTable } from '../transport/process/process-table.js'
import { isAlive } from './processes/orphans.js'
import { type InstanceRecord, readRecords, recordFolder, thisPlace } from './state/instance-record.js'
import { stateDir } from './state/state-key.js'

/** The proxies of this user that run on this machine, the youngest first. */
export const runningProxies = async (): Promise<InstanceRecord[]> => {
  const records = await readRecords(recordFolder(stateDir(process.env)))
  if (records.length === 0) return []
  const [place, rows] = await Promise.all([thisPlace(), processTable().rows()])
  return records
    .filter(record => record.place === place && isAlive(record, rows))
    .sort((one, other) => other.startedAt.localeCompare(one.startedAt))
}
