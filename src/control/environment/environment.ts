import { delimiter } from 'node:path'
import type { Environment, Loaded, ProxyConfig, VariableSource } from '../../config/types.js'
import { cause, causeLine } from '../../diagnostics/explain.js'
import { systemClock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { proxyRulesOf } from '../../kernel/machine/forward-proxy.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { LoginShell } from './login-shell.js'

/** Resolves the text of a configuration; like `parseConfig` with a text and a file. */
export type ParseVariables = (env: Environment, later: readonly VariableSource[]) => Loaded

/** A variable of the configuration and its source, without the value. */
export interface VariableStatus {
  readonly name: string
  /** See `Variable.from`. Undefined while no source has a value. */
  readonly from: string | undefined
  /** The servers that wait for it. */
  readonly waiting: readonly string[]
}

/** The reason for which a program needs more than the usual environment. */
export interface ProgramNeed {
  /** It inherits all variables. */
  readonly isWhole?: boolean
  /** It was not found in `PATH`. */
  readonly isMissing?: boolean
}

export interface EnvironmentOptions {
  /** The environment of this process. */
  readonly env: Environment
  /** True if a user started the proxy in a terminal, whose variables take precedence. */
  readonly isPersons: boolean
  readonly tell: (message: string) => void
  readonly shellWaitMs?: number
}

/** Time that a configuration waits for the login shell. Clients wait at most six seconds for a daemon. */
const SHELL_WAIT_MS = 3000
/** Maximum size of the clients' values, including names. */
const BROUGHT_BYTES = 256 * 1024
/** Maximum size of the requested names, which must fit into 8 KiB of headers. */
const WANTED_BYTES = 4 * 1024
const CLIENT_BYTES = 64
const FROM_SHELL = 'login shell'
const FROM_CLIENT = 'client '
/** Minimum age of the login shell's answer before it is asked again for a new client. */
const RENEW_MS = 10_000
/** Variables with the same value in every shell of a user, which need no login shell. */
const SAME = new Set(['HOME', 'USER', 'LOGNAME', 'SHELL', 'userHome'])

/**
 * Looks up the variables of a configuration, in addition to its `envFile`. Clients' values are secret: they
 * stay in memory and are used only where the configuration names them.
 */
export class ProxyEnvironment {
  readonly #options: EnvironmentOptions
  readonly #shell: LoginShell
  /** Undefined until the shell has answered. */
  #fromShell: Environment | undefined
  readonly #brought = new Map<string, VariableSource & { readonly value: string }>()
  #broughtBytes = 0
  #isAwaited = false
  /** True while a configuration waits for the shell's answer. */
  #isWaiting = false
  /** Set once a program was not found in the `PATH` of a terminal. */
  #isWide = false
  #mayAskShell = true
  /** Called if the login shell answers after a configuration was loaded without it. */
  onLate: (() => void) | undefined

  constructor(options: EnvironmentOptions) {
    this.#options = options
    const { tell } = options
    this.#shell = new LoginShell({
      ...options,
      onProblem: wrong => tell(causeLine(cause('D022.daemon', { wrong }))),
    })
  }

  /** Parses a configuration, and asks the login shell if that may matter. Rejects if `parse` throws. */
  async load(parse: ParseVariables): Promise<Loaded> {
    const first = this.#parsed(parse)
    this.#mayAskShell = first.config?.daemon.shellEnv ?? true
    if (!this.#mayAskShell) this.#fromShell = undefined
    // The daemon's programs always need the shell's PATH, which can arrive later.
    const asked = this.#mayAskShell && !this.#options.isPersons ? this.#askShell() : undefined
    if (!this.#mayAskShell || !this.#needsShell(first)) return first
    const ms = this.#options.shellWaitMs ?? SHELL_WAIT_MS
    this.#isWaiting = true
    await within(asked ?? this.#askShell(), { clock: systemClock, ms })
    this.#isWaiting = false
    if (this.#fromShell !== undefined) return this.#parsed(parse)
    this.#isAwaited = true
    return first
  }

  /** Asks the login shell again with the next configuration. */
  forgetShell(): void {
    this.#shell.forget()
    this.#fromShell = undefined
  }

  /** Returns the environment for a child process. Never rejects. */
  async forPrograms({ isWhole = false, isMissing = false }: ProgramNeed = {}): Promise<Environment> {
    const { env, isPersons } = this.#options
    this.#isWide ||= isMissing
    if (!this.#mayAskShell || (isPersons && !this.#isWide)) return env
    await this.#askShell()
    const { PATH = env['PATH'], ...others } = this.#fromShell ?? {}
    if (isPersons) return { ...env, PATH: joinedPaths(env['PATH'], PATH) }
    return { ...env, ...(isWhole && others), PATH }
  }

  /**
   * Stores a client's values of requested variables. They replace values of other clients because tokens
   * rotate. Returns true if a value is new. Throws a Fault.
   */
  bring(values: Readonly<Record<string, unknown>>, client: string, config: ProxyConfig): boolean {
    let isNew = false
    const lacks = new Set(config.waiting.flatMap(server => server.lacks))
    for (const name of wantedBy(config)) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      const before = this.#brought.get(name)?.value
      // A value that is not in force yet stays.
      const isPending = before !== undefined && lacks.has(name)
      if (value === undefined || value === '' || value === before || isPending) continue
      if (typeof value !== 'string' || value.includes('\0'))
        throw new Fault('invalid-params', `the value of ${name} must be text`)
      const bytes = Buffer.byteLength(name) + Buffer.byteLength(value) - broughtBytes(name, before)
      if (this.#broughtBytes + bytes > BROUGHT_BYTES)
        throw new Fault('too-large', `the variables of clients exceed ${BROUGHT_BYTES} bytes`)
      this.#broughtBytes += bytes
      this.#brought.set(name, { from: `${FROM_CLIENT}${nameOf(client)}`, value, values: { [name]: value } })
      isNew = true
    }
    return isNew
  }

  /**
   * Asks the login shell again if its answer is old and the configuration uses or lacks variables that it may
   * set. Resolves with true if a value is new. Never rejects.
   */
  async renewShell({ variables, waiting }: ProxyConfig): Promise<boolean> {
    const used = variables.filter(({ from }) => from === FROM_SHELL)
    const lacks = waiting.flatMap(server => server.lacks)
    if (!this.#mayAskShell || used.length + lacks.length === 0) return false
    const found = await this.#shell.renewed(RENEW_MS)
    if (found === undefined) return false
    this.#fromShell = found
    return used.some(({ name, value }) => found[name] !== value) || lacks.some(name => name in found)
  }

  #parsed(parse: ParseVariables): Loaded {
    const { env, isPersons } = this.#options
    const shell = { from: FROM_SHELL, values: this.#fromShell ?? {} }
    const brought = [...this.#brought.values()]
    if (isPersons) return parse(env, [shell, ...brought])
    return parse({}, [shell, { from: 'environment', values: env }, ...brought])
  }

  /** Returns true if the shell has not answered and could add or override a variable. */
  #needsShell({ config }: Loaded): boolean {
    if (this.#fromShell !== undefined) return false
    if (config === undefined || config.waiting.length > 0) return true
    return !this.#options.isPersons && config.variables.some(isOnlyOurs)
  }

  async #askShell(): Promise<void> {
    const isFirst = this.#fromShell === undefined
    this.#fromShell = await this.#shell.variables()
    // Forward proxies need no mention in the configuration.
    if (isFirst && !this.#isWaiting && !this.#options.isPersons)
      this.#isAwaited ||= proxyRulesOf(this.#fromShell) !== undefined
    if (!this.#isAwaited) return
    this.#isAwaited = false
    this.onLate?.()
  }
}

/** Joins two search paths; the first one takes precedence. */
const joinedPaths = (...paths: readonly (string | undefined)[]): string =>
  [...new Set(paths.flatMap(path => path?.split(delimiter) ?? []))].join(delimiter)

const isOnlyOurs = ({ name, from }: ProxyConfig['variables'][number]): boolean =>
  from === 'environment' && !SAME.has(name)

/** Returns the size of a client's value and its name. */
const broughtBytes = (name: string, value: string | undefined): number =>
  value === undefined ? 0 : Buffer.byteLength(name) + Buffer.byteLength(value)

/** Returns the client's own name for display. */
const nameOf = (client: string): string => sanitizeLine(client, CLIENT_BYTES)

/**
 * Returns the names to request from clients, as many as fit: missing variables, and variables from clients,
 * which may have new values.
 */
export const wantedBy = ({ waiting, variables }: ProxyConfig): readonly string[] => {
  let bytes = 0
  const brought = variables.filter(({ from }) => from.startsWith(FROM_CLIENT)).map(({ name }) => name)
  return [...new Set([...waiting.flatMap(({ lacks }) => lacks), ...brought])].filter(name => {
    bytes += name.length + 3
    return bytes <= WANTED_BYTES
  })
}

/** Returns the source of each variable of a configuration. */
export const variablesOf = ({ variables, waiting }: ProxyConfig): readonly VariableStatus[] => {
  const found = new Map<string, VariableStatus>()
  for (const { name, from } of variables) found.set(name, { name, from, waiting: [] })
  for (const name of new Set(waiting.flatMap(({ lacks }) => lacks))) {
    const servers = waiting.filter(({ lacks }) => lacks.includes(name)).map(server => server.name)
    found.set(name, { name, from: undefined, waiting: servers })
  }
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
}
