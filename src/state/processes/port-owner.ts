import { readdir, readFile, readlink } from 'node:fs/promises'

/** The state of a listening socket in /proc/net/tcp. */
const LISTENING = '0A'

/**
 * Describes the process that listens on a TCP port. Resolves with undefined if it is unknown. Never rejects.
 */
export const portOwner = async (port: number): Promise<string | undefined> => {
  const inodes = new Set((await Promise.all(['tcp', 'tcp6'].map(table => listeners(table, port)))).flat())
  if (inodes.size === 0) return undefined
  const pids = (await readdir('/proc').catch(() => [])).filter(name => /^\d+$/.test(name))
  for (const pid of pids) {
    if (!(await holds(pid, inodes))) continue
    const name = (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim()
    return name === '' ? `pid ${pid}` : `pid ${pid} (${name})`
  }
  return undefined
}

const listeners = async (table: string, port: number): Promise<readonly string[]> => {
  const text = await readFile(`/proc/net/${table}`, 'utf8').catch(() => '')
  return text.split('\n').flatMap(line => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    const isIt = state === LISTENING && Number.parseInt(local.split(':').at(-1) ?? '', 16) === port
    return isIt && inode !== undefined ? [inode] : []
  })
}

const holds = async (pid: string, inodes: ReadonlySet<string>): Promise<boolean> => {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => [])
  const links = await Promise.all(names.map(name => readlink(`${folder}/${name}`).catch(() => '')))
  return links.some(link => inodes.has(/^socket:\[(\d+)\]$/.exec(link)?.[1] ?? ''))
}
