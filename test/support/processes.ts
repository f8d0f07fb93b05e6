import { type ChildProcess, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { createDeathGuard } from '../../src/transport/process/death-guard.js'
import { isWindows } from './platform.js'

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

/** A module of ours, for a program that is started with `process.execArgv`, and can load TypeScript by them. */
export const sourceUrl = (path: string): string => new URL(`../../src/${path}`, import.meta.url).href

/** Resolves when `condition` holds; rejects after a long while, so that a test that hangs says what it waits for. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`waited in vain: ${what}`)
    await delay(5)
  }
}

/** How the processes of a test are started: a group of its own is what `endWith` can end. */
export const OWN_GROUP = { detached: !isWindows } as const

const guard = createDeathGuard()

/**
 * Ends a child that was started as an `OWN_GROUP` with the test at the latest, and also if this process is killed, as tap does with a file
 * that takes too long. On Windows all that it started goes with it, for a folder that somebody works in cannot be removed; and Windows
 * itself ends what we started with us.
 */
export const endWith = (t: Test, child: ChildProcess): void => {
  const { pid = 0 } = child
  if (!isWindows) guard.watch(pid)
  const gone = once(child, 'exit').catch(() => undefined)
  t.teardown(async () => {
    if (!isWindows) child.kill('SIGKILL')
    else {
      const { stdout } = spawnSync('taskkill', ['/PID', String(pid), '/T', '/F'], { encoding: 'utf8' })
      const pids = [...stdout.matchAll(/\d+/g)].map(Number).filter(each => each !== process.pid)
      await until(() => !pids.some(isRunning), 'the end of all that a program started')
    }
    await gone
    guard.forget(pid)
  })
}
