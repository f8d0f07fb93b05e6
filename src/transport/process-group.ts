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

/** State and group of a process, from the line that `man proc_pid_stat` describes; its name may hold anything. */
function runsInGroup(stat: string, groupId: number): boolean {
  const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return group === String(groupId) && state !== 'Z' && state !== 'X'
}

/**
 * Whether a process of the group still runs. In a container without an init nobody reaps orphans: they stay members
 * of their group for ever and take signals, but run no more.
 */
export async function isGroupRunning(groupId: number): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false
  if (process.platform !== 'linux') return true
  const entries = await readdir('/proc').catch(() => undefined)
  if (entries === undefined) return true
  const stats = await Promise.all(
    entries
      .filter(name => /^\d+$/.test(name))
      .map(pid => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
  )
  return stats.some(stat => runsInGroup(stat, groupId))
}
