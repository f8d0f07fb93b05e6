import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { stripVTControlCharacters } from 'node:util'
import type { Environment } from '../../config/types.js'
import { inheritedEnv } from '../../kernel/machine/inherited-env.js'
import { whoAmI } from '../../kernel/machine/who-am-i.js'
import { startFolder } from '../../shim/start.js'

/** Time limit of a shell. Some start-up files take long. */
const LIMIT_MS = 5000
/** Lifetime of its answer. */
const KEPT_MS = 24 * 3_600_000
/** Maximum output, far above the operating system's limit for an environment. */
const MOST_BYTES = 4 * 1024 * 1024

export interface LoginShellOptions {
  /** The environment of this process. */
  readonly env: Environment
  /** Receives a problem of the shell: the rest of a sentence about it. */
  readonly onProblem: (wrong: string) => void
  readonly limitMs?: number
  readonly nowMs?: () => number
}

/**
 * Reads the variables of the user's login shell. They hold secrets: they stay in memory, and reach a server
 * only through its configuration. The shell is asked once a day, and again after `forget`.
 */
export class LoginShell {
  readonly #options: LoginShellOptions
  #answer: { readonly atMs: number; readonly variables: Promise<Environment> } | undefined

  constructor(options: LoginShellOptions) {
    this.#options = options
  }

  /** Resolves with an empty environment if there is no shell or it does not answer. Never rejects. */
  variables(): Promise<Environment> {
    const nowMs = (this.#options.nowMs ?? Date.now)()
    if (this.#answer === undefined || nowMs - this.#answer.atMs >= KEPT_MS)
      this.#answer = { atMs: nowMs, variables: this.#ask() }
    return this.#answer.variables
  }

  /**
   * Asks again if the answer is at least `ageMs` old, and keeps the old answer meanwhile. Resolves with
   * undefined if the answer is newer or the shell fails. Never rejects.
   */
  async renewed(ageMs: number): Promise<Environment | undefined> {
    const { env, limitMs = LIMIT_MS, nowMs: now = Date.now } = this.#options
    const before = this.#answer
    if (before === undefined || now() - before.atMs < ageMs) return undefined
    this.#answer = { atMs: now(), variables: before.variables }
    const { variables } = await askShell(env, limitMs)
    if (Object.keys(variables).length === 0) return undefined
    this.#answer = { atMs: now(), variables: Promise.resolve(variables) }
    return variables
  }

  /** Asks again the next time, because the shell's files may have changed. */
  forget(): void {
    this.#answer = undefined
  }

  async #ask(): Promise<Environment> {
    const { env, onProblem, limitMs = LIMIT_MS } = this.#options
    const { variables, wrong } = await askShell(env, limitMs)
    if (wrong !== undefined) onProblem(wrong)
    return variables
  }
}

interface ShellAnswer {
  readonly variables: Environment
  /** The problem, for people. */
  readonly wrong: string | undefined
}

const askShell = (env: Environment, limitMs: number): Promise<ShellAnswer> => {
  const shell = shellOf(env)
  if (process.platform === 'win32' || shell === undefined)
    return Promise.resolve({ variables: {}, wrong: undefined })
  const mark = randomBytes(16).toString('hex')
  return new Promise(resolve => {
    const child = startShell(shell, `printf %s ${mark}; env -0; printf %s ${mark}`, env)
    const settle = (wrong: string | undefined, variables: Environment = {}): void => {
      clearTimeout(timer)
      child.stdout?.destroy()
      child.unref()
      resolve({ variables, wrong })
    }
    const giveUp = (message: string): void => {
      endGroup(child)
      settle(message)
    }
    const timer = setTimeout(giveUp, limitMs, `did not answer in ${limitMs / 1000} s`)
    let output = Buffer.alloc(0)
    child.stdout?.on('data', (chunk: Buffer) => {
      output = Buffer.concat([output, chunk])
      const found = between(output, mark)
      if (found !== undefined) settle(noiseBefore(output, mark), variablesIn(found))
      else if (output.length > MOST_BYTES) giveUp('printed too much')
    })
    child.once('error', () => settle(`${shell} cannot be started`))
    child.once('close', code => settle(`${shell} ended with ${code ?? 'a signal'}, without output`))
  })
}

/** Passes only the basic variables: the result must not depend on our own environment. */
const startShell = (shell: string, command: string, env: Environment): ChildProcess =>
  spawn(shell, ['-ilc', command], {
    cwd: startFolder(whoAmI().home),
    env: inheritedEnv(env, {}, process.platform),
    stdio: ['ignore', 'pipe', 'ignore'],
    // Without it, an interactive shell would take over our terminal and be stopped.
    detached: true,
    windowsHide: true,
  })

/** Returns the user's login shell. Undefined if neither the environment nor the user database has one. */
export const shellOf = ({ SHELL: shell }: Environment): string | undefined =>
  (shell === '' ? undefined : shell) ?? whoAmI().shell

/** Ends a shell and its child processes. */
const endGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has already ended.
  }
}

const between = (output: Buffer, mark: string): string | undefined => {
  const start = output.indexOf(mark)
  const end = start === -1 ? -1 : output.indexOf(mark, start + mark.length)
  return end === -1 ? undefined : output.subarray(start + mark.length, end).toString()
}

/** Returns visible output of the start-up files, without terminal escape sequences. */
const noiseBefore = (output: Buffer, mark: string): string | undefined => {
  const text = stripVTControlCharacters(output.subarray(0, output.indexOf(mark)).toString())
  return /[^\s\p{Cc}]/u.test(text) ? 'prints other text to stdout in its start-up files' : undefined
}

/** Exported shell functions have names that no variable can have. */
const variablesIn = (text: string): Environment =>
  Object.fromEntries(
    text.split('\0').flatMap(line => {
      const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    }),
  )
