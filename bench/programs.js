// Starts the programs under test, and ends them with all their descendants.
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

/** Creates a fresh folder, removed at the end. */
export const freshFolder = () => mkdtempSync(join(temporary, 'd'))

/** Isolates benchmarks from the user's own proxy state. */
export const OWN_STATE = { XDG_STATE_HOME: freshFolder() }

/** Writes a value to a new file and returns its path. */
export const writeTemporary = value => {
  const file = join(freshFolder(), 'value.json')
  writeFileSync(file, JSON.stringify(value))
  return file
}

/** Returns a free port. */
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

/** Resolves when a port accepts connections: some programs announce it too early. */
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
    // Already gone.
  }
}

class Program {
  #mark
  /** Result of `isReady` for an output line. */
  found
  /** Exit status, once ended. */
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

  /** Asks one of our programs to end and waits for it; its servers end with their stdin. */
  async end() {
    this.child.kill()
    await this.#ended()
  }

  /** Ends a program and everything it started, including processes in other sessions. */
  async endTree() {
    for (const pid of treeOf(this.pid, this.#mark)) kill(pid)
    await this.#ended()
  }

  async #ended() {
    const until = performance.now() + END_LIMIT_MS
    while (this.ending === undefined && performance.now() < until) await pause(10)
  }
}

/** Ends all started programs and removes their files. */
export async function endAll() {
  await Promise.all([...running].map(program => program.endTree()))
  try {
    rmSync(temporary, { recursive: true, force: true })
  } catch {
    // A few small leftovers in the temporary folder do not matter.
  }
}

/** Registers a process to be ended with its descendants at the end. */
export function adopt(child, mark) {
  const program = new Program(child, mark)
  child.on('exit', (code, signal) => program.gone(`ended with ${signal ?? code}`))
  return program
}

/**
 * Returns variables that mark a program whose descendants may detach. Not for our proxy, which ends its own
 * descendants and treats a server with other variables as a different one.
 */
export const marked = () => {
  last += 1
  return { [MARK]: `${process.pid}-${last}` }
}

/** Starts a program; resolves when `isReady` returns a value for an output line. */
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
      // Its descendants may still run.
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
