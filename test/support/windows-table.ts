import type { ProcessRow, ProcessTable } from '../../src/transport/process/process-table.js'

/** A process as Windows tells of it. */
export const windowsRow = (pid: number, parent: number, bornMs: number): ProcessRow => ({
  pid,
  group: pid,
  born: String(bornMs),
  parent,
  bornMs,
})

/** What runs on a Windows that is played. */
export const windowsTable = (rows: readonly ProcessRow[]): ProcessTable => ({
  rows: () => Promise.resolve(rows),
  births: () => Promise.resolve(new Map()),
  carries: () => Promise.resolve(false),
  carriers: () => Promise.resolve([]),
})
