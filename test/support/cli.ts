import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { main } from '../../src/cli/main.js'
import { isWindows } from './platform.js'
import { endWith, OWN_GROUP } from './processes.js'

/** Where proxies of this test file keep their state, so that they see no others and none see them. */
export const STATE_HOME = mkdtempSync(join(tmpdir(), 'mcp-state-'))
process.env[isWindows ? 'LOCALAPPDATA' : 'XDG_STATE_HOME'] = STATE_HOME
process.once('exit', () => rmSync(STATE_HOME, { recursive: true, force: true }))

/** A tiny stdio server; see its first lines for what it can be told. */
export const TINY = fileURLToPath(new URL('../fixtures/tiny-server.mjs', import.meta.url))

/** The program as users start it; `npm run build` makes what it runs. */
export const BIN = fileURLToPath(new URL('../../bin/mcp-proxy.js', import.meta.url))

/** An entry of `mcpServers` for the tiny server. */
export const tiny = (...args: string[]) => ({ command: process.execPath, args: [TINY, ...args] })

/** How many configurations each test has written. */
const written = new WeakMap<Test, number>()

/**
 * Writes a configuration into a folder of the test; an object becomes `mcpServers`. Each time it is another file: those that are
 * served are followed.
 */
export const configFile = (t: Test, servers: object, more: object = {}): string => {
  const count = written.get(t) ?? 0
  written.set(t, count + 1)
  // tap runs what is torn down before it removes the folder only if something was registered before the folder was made; Windows
  // removes no folder that a proxy watches.
  t.teardown(() => undefined)
  const folder = count === 0 ? t.testdir() : join(t.testdirName, String(count))
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: servers, ...more }))
  return file
}

/** What a command line came to. */
export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs a command line in this process, which is quicker than a new one. */
export const runHere = async (t: Test, ...argv: string[]): Promise<Ran> => {
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
  try {
    return { code: await main(argv), ...texts }
  } finally {
    for (const release of releases) {
      if ('restore' in release) (release as { restore(): void }).restore()
    }
  }
}

/** A running program with what it wrote so far. */
export interface Running {
  readonly child: ChildProcess
  out: string
  err: string
  /** The first line of stdout that fits, from now or before. */
  line(pattern: RegExp): Promise<string>
  send(...messages: object[]): void
  /** Exit code or signal. */
  readonly exited: Promise<number | string>
}

/** Starts the program in a process of its own; it ends with the test at the latest. */
export const startBin = (
  t: Test,
  argv: readonly string[],
  {
    nodeArgs = [],
    env = {},
    bin = BIN,
  }: { nodeArgs?: string[]; env?: Record<string, string>; bin?: string } = {},
): Running => {
  const options = { ...OWN_GROUP, env: { ...process.env, ...env } }
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

/** A request of a client that can do nothing. */
export const INITIALIZE = {
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
