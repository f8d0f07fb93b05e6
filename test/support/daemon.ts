import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Test } from 'tap'
import { configFile, type Running, startBin } from './cli.js'
import { codeOnSignal } from './platform.js'
import { until } from './processes.js'

/** A running `mcp-proxy serve`, and what can be seen of it from outside. */
export interface Daemon extends Running {
  readonly url: string
  readonly wsUrl: string
  readonly sseUrl: string
  readonly host: string
  readonly port: number
  /** Everything that runs because of it: its servers, what they started, wherever that has gone. Empty where that cannot be seen. */
  descendants(): number[]
  /** What it answers at `/status`. */
  status(): Promise<{ sessions: number; calls: number; rssBytes: number; servers: readonly object[] }>
  /** Ends it in order; exit code and what is left of its descendants. */
  stop(): Promise<{ code: number | string; left: number[] }>
}

const MARK = 'MCP_TEST_MARK'

/** The processes with this variable in their environment. */
const carriers = (mark: string, except: number | undefined): number[] => {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== except)
    .filter(pid => {
      try {
        const isDead = /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
        return (
          !isDead && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${MARK}=${mark}`)
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

/** The most memory that a process ever had, in MiB; undefined where that cannot be seen. */
export const peakMiB = (pid: number | undefined): number | undefined => {
  if (process.platform !== 'linux') return undefined
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

/** What a process has open, by kind: sockets, pipes, files. Empty where that cannot be seen. */
export const openHandles = (pid: number | undefined): readonly string[] => {
  if (process.platform !== 'linux') return []
  return readdirSync(`/proc/${pid}/fd`).flatMap(fd => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

/** Starts one over these servers; killed with the test. Its servers inherit a mark, by which they are found again. */
export const startDaemon = async (
  t: Test,
  servers: Readonly<Record<string, object>>,
  more: object = {},
): Promise<Daemon> => {
  const mark = randomUUID()
  const marked = Object.fromEntries(
    Object.entries(servers).map(([name, entry]) => [
      name,
      'command' in entry
        ? { ...entry, env: { ...('env' in entry ? (entry.env as object) : {}), [MARK]: mark } }
        : entry,
    ]),
  )
  const running = startBin(t, ['serve', '--config', configFile(t, marked, more), '--port', '0'])
  const line = await running.line(/listening on http/)
  const url = new URL(line.split(' ').at(-1) ?? '')
  const { pid } = running.child
  const daemon: Daemon = Object.assign(running, {
    url: url.href,
    wsUrl: new URL('/ws', url).href.replace('http', 'ws'),
    sseUrl: new URL('/sse', url).href,
    host: url.hostname,
    port: Number(url.port),
    descendants: () => carriers(mark, pid),
    status: async () => (await (await fetch(new URL('/status', url))).json()) as never,
    stop: async () => {
      running.child.kill('SIGTERM')
      const code = await running.exited
      // Zombies of a container without an init are no longer there, and what was just killed may take a moment.
      await until(() => carriers(mark, pid).length === 0, 'the end of all descendants')
      return { code: code === codeOnSignal('SIGTERM') ? 0 : code, left: carriers(mark, pid) }
    },
  })
  return daemon
}
