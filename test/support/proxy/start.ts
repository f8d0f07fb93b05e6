import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { createProxy, type Proxy, type ProxyOptions } from '../../../src/app/proxy.js'
import { main } from '../../../src/cli/main.js'
import { parseConfig } from '../../../src/config/parse.js'
import type { Address, ClientKind } from '../client/sdk-transports.js'
import { hello, NEWEST } from '../era/codec.js'
import { codeOnSignal, endWith, isWindows, OWN_GROUP, socketFile, until } from '../processes.js'

const RAW_SERVER = fileURLToPath(new URL('../../fixtures/raw-server.mjs', import.meta.url))

/** Returns the entry of test/fixtures/raw-server.mjs with these arguments. */
export const rawServer = (...args: readonly string[]): object => ({
  command: process.execPath,
  args: [RAW_SERVER, ...args],
})

/** Starts a proxy of these servers, configured as by a file; closed with the test. */
export const startProxy = (
  t: Test,
  mcpServers: Readonly<Record<string, object>>,
  options: ProxyOptions & {
    readonly pageSize?: number
    readonly startupWait?: string
    readonly limits?: object
    /** More keys of the file. */
    readonly more?: object
  } = {},
): Proxy => {
  // Long timeouts, so that servers do not fail on a busy machine.
  const { pageSize, limits, more, startupWait = '60s', ...rest } = { listWaitMs: 60_000, ...options }
  const text = JSON.stringify({ mcpServers, pageSize, limits, startupWait, ...more })
  const { config, problems } = parseConfig(text, 'test.json', process.env)
  if (config === undefined || problems.some(({ severity }) => severity === 'error')) {
    throw new Error(`bad test configuration: ${JSON.stringify(problems)}`)
  }
  const proxy = createProxy(config, rest)
  t.teardown(() => proxy.close())
  return proxy
}

/** State folder of this test file's proxies, isolated from others. */
export const STATE_HOME = mkdtempSync(join(tmpdir(), 'mcp-state-'))
process.env[isWindows ? 'LOCALAPPDATA' : 'XDG_STATE_HOME'] = STATE_HOME
process.env['MCP_PROXY_RUN_DIR'] = join(STATE_HOME, 'run')
process.once('exit', () => rmSync(STATE_HOME, { recursive: true, force: true }))

/** A tiny stdio server; its first lines document its arguments. */
export const TINY = fileURLToPath(new URL('../../fixtures/tiny-server.mjs', import.meta.url))

/** The program as users start it; `npm run build` writes the code that it loads. */
export const BIN = fileURLToPath(new URL('../../../bin/mcp-proxy.js', import.meta.url))

/** Returns an entry of `mcpServers` for the tiny server. */
export const tiny = (...args: string[]) => ({ command: process.execPath, args: [TINY, ...args] })

/** Number of configurations that each test has written. */
const written = new WeakMap<Test, number>()

/**
 * Writes a configuration to a new file in the test's folder; an object becomes `mcpServers`. Never reuses a
 * file, because proxies watch theirs.
 */
export const configFile = (t: Test, servers: object, more: object = {}): string => {
  const count = written.get(t) ?? 0
  written.set(t, count + 1)
  // tap runs teardowns before it removes the folder only if one was registered before the folder was created;
  // Windows cannot remove a folder that a proxy watches.
  t.teardown(() => undefined)
  const folder = count === 0 ? t.testdir() : join(t.testdirName, String(count))
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: servers, ...more }))
  return file
}

/** Sets environment variables until the test ends. */
export const setEnv = (t: Test, values: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(values)) {
    const before = process.env[name]
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
    process.env[name] = value
  }
}

/** The result of a command line. */
export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command line in this process, which is faster than a new one. */
export const runHere = (t: Test, ...argv: string[]): Promise<Ran> => captured(t, () => main(argv))

const captures: object[] = []

/**
 * Runs command line work in this process and captures its output. Rejects if another capture began meanwhile
 * and goes on, because restoring them in this order would swallow the report of the test.
 */
export const captured = async (t: Test, work: () => Promise<number>): Promise<Ran> => {
  const texts = { out: '', err: '' }
  const into = (key: 'out' | 'err') => (chunk: string | Uint8Array, done?: () => void) => {
    texts[key] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    done?.()
    return true
  }
  const releases = [
    t.intercept(process.stdout, 'write', { value: into('out') }),
    t.intercept(process.stderr, 'write', { value: into('err') }),
    t.capture(console, 'log', (text: string) => into('out')(`${text}\n`)),
  ]
  captures.push(texts)
  try {
    const code = await work()
    if (captures.at(-1) !== texts) throw new Error('two captures overlap: start one as a program')
    return { code, ...texts }
  } finally {
    captures.splice(captures.indexOf(texts), 1)
    for (const release of releases) {
      if ('restore' in release) (release as { restore(): void }).restore()
    }
  }
}

/** A running program with its output so far. */
export interface Running {
  readonly child: ChildProcess
  out: string
  err: string
  /** Resolves with the first matching line of stdout, past or future. */
  line(pattern: RegExp): Promise<string>
  send(...messages: object[]): void
  /** Exit code or signal. */
  readonly exited: Promise<number | string>
}

/** Starts the program in a separate process, which ends at the latest with the test. */
export const startBin = (
  t: Test,
  argv: readonly string[],
  {
    nodeArgs = [],
    env = {},
    bin = BIN,
    cwd,
  }: { nodeArgs?: string[]; env?: Record<string, string>; bin?: string; cwd?: string } = {},
): Running => {
  const options = { ...OWN_GROUP, env: { ...process.env, ...env }, ...(cwd !== undefined && { cwd }) }
  const child = spawn(process.execPath, [...nodeArgs, bin, ...argv], options)
  endWith(t, child)
  const running: Running = {
    child,
    out: '',
    err: '',
    send: (...messages) => {
      for (const message of messages) child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    },
    line: pattern =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = running.out
            .split('\n')
            .slice(0, -1)
            .find(text => pattern.test(text))
          if (found !== undefined) resolve(found)
        }
        look()
        child.stdout.on('data', look)
        child.once('close', () => reject(new Error(`no line ${pattern}: ${running.out}${running.err}`)))
      }),
    exited: once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string),
  }
  child.stdout.on('data', chunk => {
    running.out += String(chunk)
  })
  child.stderr.on('data', chunk => {
    running.err += String(chunk)
  })
  child.stdin.on('error', () => undefined)
  return running
}

/** A request of a client without capabilities. */
export const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: hello(NEWEST),
}

/** A running `mcp-proxy serve`, and its externally visible state. */
export interface Daemon extends Running {
  readonly url: string
  readonly wsUrl: string
  readonly sseUrl: string
  readonly host: string
  readonly port: number
  /**
   * Returns all processes started because of it: its servers and their descendants, also detached ones. Empty
   * if the system does not show them.
   */
  descendants(): number[]
  /** Returns its response at `/status`. */
  status(): Promise<{ sessions: number; calls: number; rssBytes: number; servers: readonly object[] }>
  /** Stops it gracefully; resolves with its exit code and remaining descendants. */
  stop(): Promise<{ code: number | string; left: number[] }>
}

const MARK = 'MCP_TEST_MARK'

/** Returns the processes with this variable in their environment. */
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

/** Returns a process's peak memory in MiB; undefined if the system does not show it. */
export const peakMiB = (pid: number | undefined): number | undefined => {
  if (process.platform !== 'linux') return undefined
  const [, kib] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

/**
 * Returns a process's open handles by kind: sockets, pipes, files. Empty if the system does not show them.
 */
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

/**
 * Starts a daemon for these servers, killed with the test. Its servers inherit a mark that identifies them.
 */
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
      // Ignores zombies in a container without an init; killed processes may take a moment to end.
      await until(() => carriers(mark, pid).length === 0, 'the end of all descendants')
      return { code: code === codeOnSignal('SIGTERM') ? 0 : code, left: carriers(mark, pid) }
    },
  })
  return daemon
}

/** Settings of every proxy, in addition to its servers. */
const SETTINGS = {
  // A server's page holds two items, so the two kinds of pages end at different items.
  pageSize: 3,
  // Capabilities depend on the servers that have started by then; the machine may be busy.
  startupWait: '20s',
  // Each pair must be independent of what an earlier proxy cached.
  knownServers: false,
}

/** A proxy and its address. */
export interface Door {
  readonly address: Address
  /** Returns the number of sessions if the proxy runs in this process. */
  readonly sessions: () => number | undefined
}

/** An address without any known member. */
export const NOWHERE: Address = { command: [], url: '', sseUrl: '', wsUrl: '', path: '' }

/** Starts a proxy of these servers: a separate process that stdio clients start, or else in this process. */
export const openDoor = async (
  t: Test,
  kind: ClientKind,
  servers: Readonly<Record<string, object>>,
): Promise<Door> => {
  if (kind === 'stdio') {
    const file = join(t.testdir(), 'mcp.json')
    writeFileSync(file, JSON.stringify({ mcpServers: servers, ...SETTINGS }))
    const command = [process.execPath, BIN, 'stdio', '--config', file]
    return { address: { ...NOWHERE, command }, sessions: () => undefined }
  }
  const proxy = startProxy(t, servers, SETTINGS)
  if (kind === 'socket') {
    const { path } = await proxy.listenSocket(socketFile(t))
    return { address: { ...NOWHERE, path }, sessions: () => undefined }
  }
  const face = await proxy.listen({ port: 0 })
  const { url, sseUrl = '', wsUrl = '' } = face
  return { address: { ...NOWHERE, url, sseUrl, wsUrl }, sessions: () => face.sessions }
}
