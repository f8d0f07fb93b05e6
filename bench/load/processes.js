// Processes and their resource usage, as Linux reports them; unavailable on other systems.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Environment variable that marks all processes of one target. */
export const MARK = 'MCP_PROXY_BENCH'

const SERVER = /\/servers\/stdio\.js$/

const read = (pid, file) => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

const everyProcess = () => {
  try {
    return readdirSync('/proc').filter(name => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** Parses the fields after the name, which is in brackets and may contain anything: state, then parent. */
const parentOf = pid => Number(/\) \S (\d+) [^)]*$/.exec(read(pid, 'stat'))?.[1])

/** Returns a process, its descendants, and all marked processes whose parent is gone. */
export const treeOf = (pid, mark) => {
  const children = new Map()
  const tree = new Set([pid])
  for (const name of everyProcess()) {
    const parent = parentOf(name)
    children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    if (mark !== undefined && read(name, 'environ').split('\0').includes(`${MARK}=${mark}`))
      tree.add(Number(name))
  }
  for (const one of tree) for (const child of children.get(one) ?? []) tree.add(child)
  return [...tree]
}

const isNode = pid => {
  try {
    return readlinkSync(`/proc/${pid}/exe`) === process.execPath
  } catch {
    return false
  }
}

/** Returns a proxy's processes, without its servers and without shells, whose cost is negligible. */
const programsOf = pid =>
  treeOf(pid).filter(
    one => one === pid || (isNode(one) && !SERVER.test(read(one, 'cmdline').split('\0')[1] ?? '')),
  )

const sumOf = (pids, of) => pids.reduce((sum, pid) => sum + of(pid), 0)

const cpuUsOf = pid => {
  let ns = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0])
  }
  return ns / 1000
}

/**
 * Returns a clock of the CPU time, in microseconds, of all threads of one or more proxies. Create it before
 * the measurement.
 */
export const cpuClock = pid => {
  const pids = [pid].flat().flatMap(programsOf)
  return () => {
    try {
      return sumOf(pids, cpuUsOf)
    } catch {
      return Number.NaN
    }
  }
}

/** Returns a proxy's resident memory in KiB. */
export const residentKiB = pid =>
  sumOf([pid].flat().flatMap(programsOf), one => Number(/VmRSS:\s+(\d+)/.exec(read(one, 'status'))?.[1]))
