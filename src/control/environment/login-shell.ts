import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { stripVTControlCharacters } from 'node:util'
import type { Environment } from '../../config/types.js'
import { inheritedEnv } from '../../machine/inherited-env.js'
import { whoAmI } from '../../machine/who-am-i.js'
import { startFolder } from '../../shim/start.js'

/** How long a shell may take: some run half a desktop at each start. */
const LIMIT_MS = 5000
/** How long its answer holds. */
const KEPT_MS = 24 * 3_600_000
/** Far more than the operating system passes to a program. */
const MOST_BYTES = 4 * 1024 * 1024

export interface LoginShellOptions {
  /** Of this process. */
  readonly env: Environment
  /** Says something to the person behind the daemon. */
  readonly tell: (words: string) => void
  readonly limitMs?: number
  readonly nowMs?: () => number
}

/**
 * The variables that a login shell of the user sets. They hold secrets: they stay in memory, and reach a
 * server only where its entry names them. The shell is asked once a day, and when told to `forget`.
 */
export class LoginShell {
  readonly #options: LoginShellOptions
  #answer: { readonly atMs: number; readonly variables: Promise<Environment> } | undefined

  constructor(options: LoginShellOptions) {
    this.#options = options
  }

  /** Resolves with nothing at all where there is no such shell, or it does not answer. Never rejects. */
  variables(): Promise<Environment> {
    const nowMs = (this.#options.nowMs ?? Date.now)()
    if (this.#answer === undefined || nowMs - this.#answer.atMs >= KEPT_MS)
      this.#answer = { atMs: nowMs, variables: this.#ask() }
    return this.#answer.variables
  }

  /**
   * Asks again if the answer is at least `ageMs` old; meanwhile it holds. Resolves with undefined if it is
   * not that old, or the shell does not answer. Never rejects.
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

  /** Asks again the next time: its files may have changed. */
  forget(): void {
    this.#answer = undefined
  }

  async #ask(): Promise<Environment> {
    const { env, tell, limitMs = LIMIT_MS } = this.#options
    const { variables, wrong } = await askShell(env, limitMs)
    if (wrong !== undefined) {
      const mend = 'set PATH and other variables in envFile, or daemon.shellEnv to false'
      tell(`D022: the login shell ${wrong}: ${mend}`)
    }
    return variables
  }
}

interface ShellAnswer {
  readonly variables: Environment
  /** What is wrong with it, in words. */
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
    const giveUp = (words: string): void => {
      endGroup(child)
      settle(words)
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
    child.once('close', code => settle(`${shell} ended with ${code ?? 'a signal'}, and said nothing`))
  })
}

/** What every program needs decides about it, not what happens to be set where we were started. */
const startShell = (shell: string, command: string, env: Environment): ChildProcess =>
  spawn(shell, ['-ilc', command], {
    cwd: startFolder(whoAmI().home),
    env: inheritedEnv(env, {}, process.platform),
    stdio: ['ignore', 'pipe', 'ignore'],
    // Interactive shells want the terminal, if there is one, and would be stopped.
    detached: true,
    windowsHide: true,
  })

/** The login shell of the user; undefined if neither the environment nor the user database names one. */
export const shellOf = ({ SHELL: shell }: Environment): string | undefined =>
  (shell === '' ? undefined : shell) ?? whoAmI().shell

/** Ends a shell with all that it started. */
const endGroup = ({ pid }: ChildProcess): void => {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

const between = (output: Buffer, mark: string): string | undefined => {
  const start = output.indexOf(mark)
  const end = start === -1 ? -1 : output.indexOf(mark, start + mark.length)
  return end === -1 ? undefined : output.subarray(start + mark.length, end).toString()
}

/** Its start-up files print something that people see; sequences for the terminal are none. */
const noiseBefore = (output: Buffer, mark: string): string | undefined => {
  const text = stripVTControlCharacters(output.subarray(0, output.indexOf(mark)).toString())
  return /[^\s\p{Cc}]/u.test(text) ? 'printed to stdout what its start-up files say' : undefined
}

/** Shells also export functions, under names that no variable has. */
const variablesIn = (text: string): Environment =>
  Object.fromEntries(
    text.split('\0').flatMap(line => {
      const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    }),
  )
