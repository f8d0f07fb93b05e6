import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Whether a process runs; one that only waits to be reaped by somebody else does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}

/** Resolves when `condition` holds; rejects after a while, so that a test fails instead of hanging. */
export async function until(condition: () => boolean, what: string, limitMs = 10_000): Promise<void> {
  const endMs = performance.now() + limitMs
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`waited in vain: ${what}`)
    await delay(5)
  }
}
