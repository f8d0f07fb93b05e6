// What processes there are and what they have used, as Linux tells it; elsewhere nothing is known.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The variable by which all that was started for one target can be told from the rest of the machine. */
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

/** After the name, which may hold anything but is in brackets: state, then the parent. */
const parentOf = pid => Number(/\) \S (\d+) [^)]*$/.exec(read(pid, 'stat'))?.[1])

/** A process, all that descends from it, and all that bears its mark although its parent is gone. */
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

/**
 * The processes that make up a proxy: some are more than one. Not its servers, and not a shell, which is next
 * to nothing.
 */
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
 * A clock of the CPU time in microseconds that all threads of a proxy, or of several, have used; made before
 * what is measured begins.
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

/** Memory of a proxy that is in RAM, in KiB. */
export const residentKiB = pid =>
  sumOf([pid].flat().flatMap(programsOf), one => Number(/VmRSS:\s+(\d+)/.exec(read(one, 'status'))?.[1]))
