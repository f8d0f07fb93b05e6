// Starting the programs under test, and ending them with all that they started.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { MARK, treeOf } from './load/processes.js'

const START_LIMIT_MS = 20_000
const END_LIMIT_MS = 2000

const temporary = mkdtempSync(join(tmpdir(), 'mcp-proxy-bench-'))
const running = new Set()
let last = 0

/** A folder that nobody has used yet; it goes at the end. */
export const freshFolder = () => mkdtempSync(join(temporary, 'd'))

/** What the user's own proxies keep on disk is neither read nor written. */
export const OWN_STATE = { XDG_STATE_HOME: freshFolder() }

/** Writes a value into a file of its own, and tells its path. */
export const writeTemporary = value => {
  const file = join(freshFolder(), 'value.json')
  writeFileSync(file, JSON.stringify(value))
  return file
}

/** A port that nobody listens on. */
export const freePort = () =>
  new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

const connects = port =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    const tell = isThere => {
      socket.destroy()
      resolve(isThere)
    }
    socket.on('connect', () => tell(true))
    socket.on('error', () => tell(false))
  })

/** Resolves when somebody listens on a port: some programs say that they do before it is so. */
export async function listens(port) {
  const until = performance.now() + START_LIMIT_MS
  while (!(await connects(port))) {
    if (performance.now() > until) throw new Error(`does not listen after ${START_LIMIT_MS / 1000} s`)
    await pause(10)
  }
}

const kill = pid => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone.
  }
}

/** A running program. */
class Program {
  #mark
  /** What `isReady` found in its output. */
  found
  /** How it ended, if it did. */
  ending

  constructor(child, mark) {
    this.child = child
    this.#mark = mark
    running.add(this)
  }

  get pid() {
    return this.child.pid
  }

  gone(ending) {
    this.ending ??= ending
    running.delete(this)
  }

  /** Asks a program of ours to end, and waits for it: its servers end with their input. */
  async end() {
    this.child.kill()
    await this.#ended()
  }

  /** Ends a program and all that it started, also what went into a session of its own. */
  async endTree() {
    for (const pid of treeOf(this.pid, this.#mark)) kill(pid)
    await this.#ended()
  }

  async #ended() {
    const until = performance.now() + END_LIMIT_MS
    while (this.ending === undefined && performance.now() < until) await pause(10)
  }
}

/** Ends all that was started, and removes what it has left on disk. */
export async function endAll() {
  await Promise.all([...running].map(program => program.endTree()))
  try {
    rmSync(temporary, { recursive: true, force: true })
  } catch {
    // A few small files in the folder for temporary files are not worth a report.
  }
}

/** Has a process ended at the end with all that it started. */
export function adopt(child, mark) {
  const program = new Program(child, mark)
  child.on('exit', (code, signal) => program.gone(`ended with ${signal ?? code}`))
  return program
}

/**
 * Variables for a program that may start others which are no longer found as its descendants. Not for ours:
 * it ends what it starts, and takes a server with other variables for another one.
 */
export const marked = () => {
  last += 1
  return { [MARK]: `${process.pid}-${last}` }
}

/** Starts a program; resolves when `isReady` makes something of a line that it writes. */
export const start = (command, isReady, env = {}) =>
  new Promise((resolve, reject) => {
    const child = spawn(command[0], command.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...OWN_STATE, ...env },
    })
    const program = adopt(child, env[MARK])
    const fail = why => {
      clearTimeout(limit)
      program.gone(why)
      // What it started may still be there.
      program.endTree()
      reject(new Error(`${why}: ${said.slice(-3).join(' | ')}`))
    }
    const limit = setTimeout(() => fail(`did not start in ${START_LIMIT_MS / 1000} s`), START_LIMIT_MS)
    const said = []
    const onLine = line => {
      if (program.found !== undefined) return
      said.push(line)
      program.found = isReady(line)
      if (program.found === undefined) return
      clearTimeout(limit)
      resolve(program)
    }
    createInterface({ input: child.stdout }).on('line', onLine)
    createInterface({ input: child.stderr }).on('line', onLine)
    child.on('error', error => fail(error.message))
    child.on('exit', (code, signal) => fail(`ended with ${signal ?? code}`))
  })
