import { readdir, readFile } from 'node:fs/promises'

/** Signals every process of a group; false when there is none left that we may signal. */
export function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  // kill(-1) reaches every process of the user, kill(0) our own group.
  if (!Number.isSafeInteger(groupId) || groupId <= 1) return false
  try {
    process.kill(-groupId, signal)
    return true
  } catch {
    return false
  }
}

/** What the line of a process says that `man proc_pid_stat` describes; undefined for one that runs no more. */
export function readStat(stat: string): { readonly group: number; readonly ticks: string } | undefined {
  // Its name stands in brackets, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, , group] = fields
  const ticks = fields[19]
  if (ticks === undefined || state === 'Z' || state === 'X') return undefined
  return { group: Number(group), ticks }
}

/**
 * Whether a process of the group still runs. In a container without an init nobody reaps orphans: they stay members
 * of their group for ever and take signals, but run no more.
 */
export async function isGroupRunning(groupId: number, platform: NodeJS.Platform): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false
  if (platform !== 'linux') return true
  const entries = await readdir('/proc').catch(() => undefined)
  if (entries === undefined) return true
  const stats = await Promise.all(
    entries
      .filter(name => /^\d+$/.test(name))
      .map(pid => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
  )
  return stats.some(stat => readStat(stat)?.group === groupId)
}
