import type { Environment, Loaded, ProxyConfig, VariableSource } from '../../config/types.js'
import { systemClock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { sanitizeLine } from '../../secrets/mask.js'
import { LoginShell } from './login-shell.js'

/** Resolves the text of a configuration; as `parseConfig` with a text and a file. */
export type Parse = (env: Environment, later: readonly VariableSource[]) => Loaded

/** A variable of the configuration, and where it comes from; never what it is. */
export interface VariableStatus {
  readonly name: string
  /** As `Variable.from`; undefined while nobody has told. */
  readonly from: string | undefined
  /** The servers that wait for it. */
  readonly waiting: readonly string[]
}

export interface EnvironmentOptions {
  /** Of this process. */
  readonly env: Environment
  /** Whether a person started it in a terminal, where what is set there comes first. */
  readonly isPersons: boolean
  readonly tell: (words: string) => void
  readonly shellWaitMs?: number
}

/** How long a configuration waits for the login shell: clients wait no more than six seconds for a daemon. */
const SHELL_WAIT_MS = 3000
/** How much clients may have us keep, names included. */
const BROUGHT_BYTES = 256 * 1024
/** Of the names that clients are asked for; they travel in a header of 8 KiB. */
const WANTED_BYTES = 4 * 1024
const CLIENT_BYTES = 64
const FROM_SHELL = 'login shell'
const FROM_CLIENT = 'client '
/** How old the answer of the login shell may be when a client joins. */
const RENEW_MS = 10_000
/** Variables that are the same in every shell of a user: nobody waits for one to hear of them. */
const SAME = new Set(['HOME', 'USER', 'LOGNAME', 'SHELL', 'userHome'])

/**
 * Where the variables of a configuration are looked up, beside its `envFile`. What clients bring is secret:
 * it is kept in memory only, and put only where the configuration names it.
 */
export class ProxyEnvironment {
  readonly #options: EnvironmentOptions
  readonly #shell: LoginShell
  /** Undefined while the shell has not answered, or is not asked. */
  #fromShell: Environment | undefined
  readonly #brought = new Map<string, VariableSource & { readonly value: string }>()
  #broughtBytes = 0
  #isAwaited = false
  #mayAskShell = true
  /** Called when the login shell has answered after a configuration could wait no longer. */
  onLate: (() => void) | undefined

  constructor(options: EnvironmentOptions) {
    this.#options = options
    this.#shell = new LoginShell(options)
  }

  /** Parses a configuration, and asks the login shell if that may matter. Rejects if `parse` throws. */
  async load(parse: Parse): Promise<Loaded> {
    const first = this.#parsed(parse)
    this.#mayAskShell = first.config?.daemon.shellEnv ?? true
    if (!this.#mayAskShell) this.#fromShell = undefined
    // The programs of a daemon need its PATH in any case: it may start while others go on.
    const asked = this.#mayAskShell && !this.#options.isPersons ? this.#askShell() : undefined
    if (!this.#mayAskShell || !this.#needsShell(first)) return first
    const ms = this.#options.shellWaitMs ?? SHELL_WAIT_MS
    await within(asked ?? this.#askShell(), { clock: systemClock, ms })
    if (this.#fromShell !== undefined) return this.#parsed(parse)
    this.#isAwaited = true
    return first
  }

  /** Asks the login shell anew with the next configuration. */
  forgetShell(): void {
    this.#shell.forget()
    this.#fromShell = undefined
  }

  /** What the programs that we start may inherit from. Never rejects. */
  async forPrograms(): Promise<Environment> {
    const { env, isPersons } = this.#options
    if (isPersons || !this.#mayAskShell) return env
    await this.#askShell()
    const { PATH = env['PATH'] } = this.#fromShell ?? {}
    return { ...env, PATH }
  }

  /**
   * Takes the values that a client has of the variables that are wanted. They replace those that other
   * clients brought before, because tokens are rotated. Returns whether any is new. Throws a Fault.
   */
  bring(values: Readonly<Record<string, unknown>>, client: string, config: ProxyConfig): boolean {
    let isNew = false
    const lacks = new Set(config.waiting.flatMap(server => server.lacks))
    for (const name of wantedBy(config)) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      const before = this.#brought.get(name)?.value
      // One that is not in force yet stays.
      const isPending = before !== undefined && lacks.has(name)
      if (value === undefined || value === '' || value === before || isPending) continue
      if (typeof value !== 'string' || value.includes('\0'))
        throw new Fault('invalid-params', `the value of ${name} is no text`)
      const bytes = Buffer.byteLength(name) + Buffer.byteLength(value) - broughtBytes(name, before)
      if (this.#broughtBytes + bytes > BROUGHT_BYTES)
        throw new Fault('too-large', `clients may bring ${BROUGHT_BYTES} bytes of variables`)
      this.#broughtBytes += bytes
      this.#brought.set(name, { from: `${FROM_CLIENT}${nameOf(client)}`, value, values: { [name]: value } })
      isNew = true
    }
    return isNew
  }

  /**
   * Asks the login shell again, a while after its last answer, if the configuration uses or lacks variables
   * that it may set. Resolves with whether a value is new. Never rejects.
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

  #parsed(parse: Parse): Loaded {
    const { env, isPersons } = this.#options
    const shell = { from: FROM_SHELL, values: this.#fromShell ?? {} }
    const brought = [...this.#brought.values()]
    if (isPersons) return parse(env, [shell, ...brought])
    return parse({}, [shell, { from: 'environment', values: env }, ...brought])
  }

  /** Whether the shell has not answered, and could say what nobody else says, or something else. */
  #needsShell({ config }: Loaded): boolean {
    if (this.#fromShell !== undefined) return false
    if (config === undefined || config.waiting.length > 0) return true
    return !this.#options.isPersons && config.variables.some(isOnlyOurs)
  }

  async #askShell(): Promise<void> {
    this.#fromShell = await this.#shell.variables()
    if (!this.#isAwaited) return
    this.#isAwaited = false
    this.onLate?.()
  }
}

const isOnlyOurs = ({ name, from }: ProxyConfig['variables'][number]): boolean =>
  from === 'environment' && !SAME.has(name)

/** The bytes that a value which was brought before takes. */
const broughtBytes = (name: string, value: string | undefined): number =>
  value === undefined ? 0 : Buffer.byteLength(name) + Buffer.byteLength(value)

/** A name that a client gives itself, for people. */
const nameOf = (client: string): string => sanitizeLine(client, CLIENT_BYTES)

/**
 * The names of variables that clients are asked for, as many as fit: those that servers wait for, and those
 * that clients have brought, which may have new values.
 */
export const wantedBy = ({ waiting, variables }: ProxyConfig): readonly string[] => {
  let bytes = 0
  const brought = variables.filter(({ from }) => from.startsWith(FROM_CLIENT)).map(({ name }) => name)
  return [...new Set([...waiting.flatMap(({ lacks }) => lacks), ...brought])].filter(name => {
    bytes += name.length + 3
    return bytes <= WANTED_BYTES
  })
}

/** Where each variable of a configuration comes from. */
export const variablesOf = ({ variables, waiting }: ProxyConfig): readonly VariableStatus[] => {
  const found = new Map<string, VariableStatus>()
  for (const { name, from } of variables) found.set(name, { name, from, waiting: [] })
  for (const name of new Set(waiting.flatMap(({ lacks }) => lacks))) {
    const servers = waiting.filter(({ lacks }) => lacks.includes(name)).map(server => server.name)
    found.set(name, { name, from: undefined, waiting: servers })
  }
  return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
}
