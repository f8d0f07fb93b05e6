import { readFileSync } from 'node:fs'

const PAGE_BYTES = 4096

/** Returns the resident memory of a process. Returns 0 if unknown, and on systems other than Linux. */
export const processBytes = (pid: number): number => {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1] ?? 0) * PAGE_BYTES
  } catch {
    return 0
  }
}
