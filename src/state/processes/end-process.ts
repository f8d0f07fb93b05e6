import { setTimeout as delay } from 'node:timers/promises'
import { processTable } from '../../transport/process/process-table.js'
import { processExists } from '../../transport/process/process-tree.js'

const TERM_MS = 3000
const KILL_MS = 2000
const POLL_MS = 50

/**
 * Ends a process, first with SIGTERM. Resolves with true if it is gone. A process with another start time
 * than `born` is a different one: it is left alone and counts as gone. Never rejects.
 */
export const endProcess = async (pid: number, born: string | undefined): Promise<boolean> => {
  if (born !== undefined && (await processTable().births([pid])).get(pid) !== born) return !processExists(pid)
  for (const [signal, ms] of [
    ['SIGTERM', TERM_MS],
    ['SIGKILL', KILL_MS],
  ] as const) {
    try {
      process.kill(pid, signal)
    } catch {
      return !processExists(pid)
    }
    for (const endMs = performance.now() + ms; performance.now() < endMs; ) {
      if (!processExists(pid)) return true
      await delay(POLL_MS)
    }
  }
  return false
}
