import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const BIN = fileURLToPath(new URL('../../bin/mcp-proxy.js', import.meta.url))
const HOOK = new URL('gc-on-signal.mjs', import.meta.url).href
const MARK = 'SOAK_MARK'

/** Whether a process runs; one that nobody reaped does not. */
const isRunning = pid => {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** All processes that inherited the mark, but not `except`. */
const carriers = (mark, except) =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== except && isRunning(name))
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`${MARK}=${mark}`)
      } catch {
        return false
      }
    })
    .map(Number)

/**
 * A `serve` in a process of its own, over servers that can be set anew; on Linux, where everything about a
 * process can be seen in /proc.
 */
export class Daemon {
  #folder = mkdtempSync(join(tmpdir(), 'mcp-soak-'))
  #mark = randomUUID()
  #child
  /** Its log, the last of it. */
  log = ''
  url = ''

  /** `bin` is another version of the program. */
  async start(config, { bin = BIN, env = {} } = {}) {
    this.write(config)
    const state = { XDG_STATE_HOME: join(this.#folder, 'state'), XDG_CACHE_HOME: join(this.#folder, 'cache') }
    this.#child = spawn(
      process.execPath,
      ['--expose-gc', '--import', HOOK, bin, 'serve', '--config', this.#file, '--port', '0'],
      {
        env: { ...process.env, ...state, ...env, SOAK_REPORT: this.#report },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    this.#child.stderr.on('data', chunk => {
      this.log = (this.log + chunk).slice(-100_000)
    })
    this.exited = new Promise(resolve => this.#child.once('exit', (code, signal) => resolve(code ?? signal)))
    let said = ''
    for await (const chunk of this.#child.stdout) {
      said += chunk
      const [, url] = /listening on (http\S+)/.exec(said) ?? []
      if (url !== undefined) {
        this.url = url
        return
      }
    }
    throw new Error(`the proxy did not start: ${this.log}`)
  }

  get pid() {
    return this.#child.pid
  }

  get isUp() {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  get #file() {
    return join(this.#folder, 'mcp.json')
  }

  get #report() {
    return join(this.#folder, 'report.json')
  }

  /** Replaces the configuration as editors do: by renaming a new file over it. */
  write(config) {
    const marked = Object.entries(config.mcpServers).map(([name, entry]) => [
      name,
      'command' in entry ? { ...entry, env: { ...entry.env, [MARK]: this.#mark } } : entry,
    ])
    writeFileSync(`${this.#file}~`, JSON.stringify({ ...config, mcpServers: Object.fromEntries(marked) }))
    renameSync(`${this.#file}~`, this.#file)
  }

  async status() {
    return (await fetch(new URL('/status', this.url))).json()
  }

  /** What there is of it: memory after all garbage is collected, handles, descendants, sessions, calls. */
  async measure() {
    rmSync(this.#report, { force: true })
    this.#child.kill('SIGUSR2')
    for (let tries = 0; tries < 100; tries += 1) {
      await delay(100)
      try {
        const { heapUsed, external, resources } = JSON.parse(readFileSync(this.#report, 'utf8'))
        const { sessions, calls, rssBytes } = await this.status()
        const fds = readdirSync(`/proc/${this.pid}/fd`).length
        const children = carriers(this.#mark, this.pid).length
        return { heap: heapUsed, external, rss: rssBytes, fds, resources, children, sessions, calls }
      } catch {
        // It is still collecting.
      }
    }
    throw new Error('the proxy does not answer')
  }

  signal(name) {
    this.#child.kill(name)
  }

  /** Ends it at once, as a power cut does, and what it keeps on disk with it. */
  kill() {
    this.signal('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Ends it in order; its exit code, and how many of its descendants still run 5 s later. */
  async stop() {
    this.#child.kill('SIGTERM')
    const code = await this.exited
    const endMs = performance.now() + 5000
    while (carriers(this.#mark).length > 0 && performance.now() < endMs) await delay(50)
    const left = carriers(this.#mark)
    for (const pid of left) process.kill(pid, 'SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
    return { code, left: left.length }
  }
}
