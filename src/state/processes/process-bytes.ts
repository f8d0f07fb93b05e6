import { readFileSync } from 'node:fs'

const PAGE_BYTES = 4096

/** The resident memory of a process; 0 where that is not known, which is everywhere but on Linux. */
export const processBytes = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1] ?? 0) * PAGE_BYTES
  } catch {
    return 0
  }
}
