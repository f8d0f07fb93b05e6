import { once } from 'node:events'
import { resolve } from 'node:path'
import type { Test } from 'tap'
import { until } from '../processes.js'
import { BIN, INITIALIZE, type Running, startBin } from '../proxy/start.js'

/** `mcp-proxy connect`, as clients start it. */
export const SHIM = resolve(BIN, '../connect.cjs')

interface Answer {
  readonly id?: number
  readonly method?: string
  readonly result?: {
    readonly [key: string]: unknown
    readonly content?: readonly { readonly text: string }[]
  }
  readonly error?: { readonly message: string; readonly data?: { readonly reason?: string } }
}

/** A client behind `mcp-proxy connect`; it records everything it receives. */
export class ShimClient {
  readonly running: Running
  readonly heard: Answer[] = []
  /** Time of each answer. */
  readonly atMs = new Map<number, number>()
  readonly #roots: readonly string[] | undefined
  #rest = ''
  #last = 1

  constructor(
    t: Test,
    config: string,
    {
      args = [],
      env = {},
      bin = SHIM,
      cwd,
      roots,
    }: {
      args?: readonly string[]
      env?: Record<string, string>
      bin?: string
      cwd?: string
      /** Root URIs; without them, the client does not declare roots. */
      roots?: readonly string[]
    } = {},
  ) {
    this.#roots = roots
    this.running = startBin(t, ['--config', config, ...args], { bin, env, ...(cwd !== undefined && { cwd }) })
    this.running.child.stdout?.on('data', chunk => {
      const lines = (this.#rest + String(chunk)).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) this.#take(JSON.parse(line))
    })
  }

  async initialize(): Promise<Answer> {
    const capabilities = this.#roots === undefined ? {} : { roots: {} }
    this.running.send({ ...INITIALIZE, params: { ...INITIALIZE.params, capabilities } })
    const answer = await this.answer(1)
    this.running.send({ method: 'notifications/initialized' })
    return answer
  }

  /** Sends a request and returns its id. */
  ask(method: string, params: object = {}): number {
    this.#last += 1
    this.running.send({ id: this.#last, method, params })
    return this.#last
  }

  /** Resolves with the first answer to a request; rejects if the program ends without one. */
  async answer(id: number): Promise<Answer> {
    await until(() => this.answers(id).length > 0 || this.running.child.exitCode !== null, `answer ${id}`)
    const [answer] = this.answers(id)
    if (answer === undefined) throw new Error(`no answer ${id}: ${this.running.err}`)
    return answer
  }

  answers(id: number): readonly Answer[] {
    return this.heard.filter(message => message.id === id && message.method === undefined)
  }

  /** Calls a tool and resolves with the JSON of its answer. */
  async call(name: string, args: object = {}): Promise<{ readonly [key: string]: unknown }> {
    const { result, error } = await this.answer(this.ask('tools/call', { name, arguments: args }))
    if (error !== undefined) throw new Error(error.message)
    return JSON.parse(result?.content?.[0]?.text ?? '{}')
  }

  async leave(): Promise<number | string> {
    this.running.child.stdin?.end()
    return await this.running.exited
  }

  /** Waits for a matching line on stderr. */
  async told(pattern: RegExp): Promise<void> {
    const { child } = this.running
    while (!pattern.test(this.running.err)) await once(child.stderr ?? child, 'data')
  }

  #take(message: Answer): void {
    this.heard.push(message)
    const { id, method } = message
    if (id !== undefined && method === undefined) this.atMs.set(id, performance.now())
    if (method === 'roots/list')
      this.running.send({ id, result: { roots: this.#roots?.map(uri => ({ uri })) } })
  }
}
