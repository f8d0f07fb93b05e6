import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { socketUrlOf } from '../../../src/kernel/machine/socket-path.js'
import type { AnyMessage } from '../client/sdk-transports.js'
import { endWith, OWN_GROUP, socketFile } from '../processes.js'

const LEGACY_MAIN = fileURLToPath(new URL('../../fixtures/matrix-server.mjs', import.meta.url))
const MODERN_MAIN = fileURLToPath(new URL('../../fixtures/matrix-modern.mjs', import.meta.url))
const PRINT_PORT = new URL('../../fixtures/print-port.mjs', import.meta.url).href
const ASKING_MAIN = fileURLToPath(new URL('../../fixtures/asking-server.mjs', import.meta.url))
const EVERYTHING_MAIN = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)

/** Server configurations by transport. */
const ENTRIES = {
  stdio: undefined,
  sse: (port: string) => ({ type: 'sse', url: `http://127.0.0.1:${port}/sse` }),
  http: (port: string) => ({ type: 'http', url: `http://127.0.0.1:${port}/mcp` }),
  'http-json': (port: string) => ({ type: 'http', url: `http://127.0.0.1:${port}/mcp` }),
  ws: (port: string) => ({ url: `ws://127.0.0.1:${port}` }),
  socket: (path: string) => ({ url: socketUrlOf(path) }),
} as const

/**
 * A transport between the proxy and a server; `http-json` answers requests with JSON, `http` with streams.
 */
export type ServerKind = keyof typeof ENTRIES

/** Every transport of servers before 2026-07-28. */
export const SERVERS = Object.keys(ENTRIES) as ServerKind[]
/** Every transport of servers of 2026-07-28; over HTTP, they answer with JSON or a stream as needed. */
export const MODERN_SERVERS = ['stdio', 'http', 'ws', 'socket'] as const satisfies ServerKind[]

/** A server of the matrix, already running or started by the proxy. */
export interface MatrixServer {
  /** Its configuration entry. */
  readonly entry: object
  /** Messages in both directions since the last read. */
  hops(): readonly Hop[]
  /**
   * Kills it and resolves when it has ended; a stdio server is the proxy's child and identified by its
   * process id.
   */
  kill(pid: number): Promise<void>
  /**
   * Restarts it at the same address and resolves when it is reachable; the proxy itself restarts a stdio
   * server.
   */
  restart(): Promise<void>
}

/** A message on one of the connections between the proxy and a server. */
export interface Hop {
  readonly on: string
  readonly from: 'proxy' | 'server'
  readonly message: AnyMessage
  readonly headers?: Readonly<Record<string, string>>
}

/** Starts a server that always negotiates `revision`; it ends with the test. */
export const startServer = async (t: Test, kind: ServerKind, revision: string): Promise<MatrixServer> => {
  const entryFor = ENTRIES[kind]
  const fixture = revision === '2026-07-28' ? [MODERN_MAIN, kind] : [LEGACY_MAIN, kind, revision]
  const record = join(folderFor(t), 'record')
  const env = { MATRIX_RECORD: record }
  const hops = recordIn(record)
  if (entryFor === undefined) {
    return {
      entry: { command: process.execPath, args: fixture, env },
      hops,
      kill: pid => Promise.resolve(void process.kill(pid, 'SIGKILL')),
      restart: () => Promise.resolve(),
    }
  }
  let address = kind === 'socket' ? socketFile(t) : '0'
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    const started = await startChild([...fixture, address], env)
    address = started.address
    child = started.child
  }
  const kill = async (): Promise<void> => {
    if (child !== undefined) await end(child)
  }
  t.teardown(kill)
  await start()
  return { entry: entryFor(address), hops, kill, restart: start }
}

/** Returns a reader of records written since its last call. */
const recordIn = (file: string): (() => readonly Hop[]) => {
  let seen = 0
  return () => {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    const lines = text.split('\n').slice(0, -1)
    const fresh = lines.slice(seen)
    seen = lines.length
    return fresh.map(line => JSON.parse(line) as Hop)
  }
}

const folderFor = (t: Test): string => {
  const folder = mkdtempSync(join(tmpdir(), 'matrix-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const startChild = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ child: ChildProcess; address: string }> => {
  const stdio = ['pipe', 'pipe', 'inherit'] as const
  const child = spawn(process.execPath, args, { stdio: [...stdio], env: { ...process.env, ...env } })
  return { child, address: await addressIn(child.stdout) }
}

/** Returns the text after `listening` in a server's output and discards the rest. */
const addressIn = async (output: Readable): Promise<string> => {
  for await (const line of createInterface({ input: output })) {
    const address = /^listening (.+)$/.exec(line)?.[1]
    if (address === undefined) continue
    output.resume()
    return address
  }
  throw new Error('the server ended before it listened')
}

/** Returns the entry of test/fixtures/asking-server.mjs, which runs until the test ends. */
export const startAsking = async (t: Test, kind: 'stdio' | 'http' | 'sse'): Promise<object> => {
  const entryFor = ENTRIES[kind]
  if (entryFor === undefined) return { command: process.execPath, args: [ASKING_MAIN] }
  const { child, address } = await startChild([ASKING_MAIN, kind], {})
  t.teardown(() => end(child))
  return entryFor(address)
}

// ── @modelcontextprotocol/server-everything ──

const MODES = {
  stdio: undefined,
  sse: ENTRIES.sse,
  streamableHttp: ENTRIES.http,
} as const

/** The modes of the reference server. */
export const EVERYTHING = Object.keys(MODES) as (keyof typeof MODES)[]

/** Returns the entry of the reference server, which runs until the test ends. */
export const startEverything = async (t: Test, mode: keyof typeof MODES): Promise<object> => {
  const entryFor = MODES[mode]
  if (entryFor === undefined) return { command: process.execPath, args: [EVERYTHING_MAIN, mode] }
  return entryFor(await startAtFreePort(t, EVERYTHING_MAIN, mode))
}

/** Starts a program that reads its port from PORT, until the test ends; returns its port. */
export const startAtFreePort = (t: Test, ...program: readonly string[]): Promise<string> => {
  const child = spawn(process.execPath, ['--import', PRINT_PORT, ...program], {
    ...OWN_GROUP,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PORT: '0' },
  })
  endWith(t, child)
  return addressIn(child.stderr)
}

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
