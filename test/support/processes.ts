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

/** Far longer than anything takes, on a slow machine too: it only gives a name to what would hang. */
const LIMIT_MS = 60_000

/** Resolves when `condition` holds; rejects after a long while, so that a test that hangs says what it waits for. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`waited in vain: ${what}`)
    await delay(5)
  }
}
