import { sep } from 'node:path'
import { isShellScript } from '../../config/read/shell-script.js'
import { KEYS } from '../../config/schema/keys.generated.js'
import { type TransportType, transportTypeOf } from '../../config/schema/transport-type.js'
import { isObject } from '../../kernel/object.js'
import { plainLine } from '../../kernel/secrets/plain-text.js'
import type { VariableForm } from '../clients/formats.js'
import type { Json } from '../edit/change.js'
import type { ContainerMembers } from '../edit/containers.js'
import { commandWords, withoutWindows } from './command-line.js'
import { APPROVALS, isOffInClient, LEFT_OUT, READ_KEYS, unusedIn } from './known-keys.js'
import { argumentsIn, filled, pairsIn, scalarText, textsOf } from './lists.js'
import { timeLimitsIn } from './time-limits.js'
import { type Input, type TextPlace, translated } from './variables.js'

/** An entry of `mcpServers` in our own file. */
export type ImportedEntry = Readonly<Record<string, Json>>

/** Conventions of a program's file. */
export interface Dialect {
  readonly timeoutUnit: 's' | 'ms' | 'unclear'
  /** True if `$NAME` and `%NAME%` are variables in its `env`. */
  readonly hasShellVariables: boolean
  /** Variables that its client replaces; undefined if the client is unknown. */
  readonly variables?: readonly VariableForm[] | undefined
  /** True if its `"type": "http"` falls back to HTTP+SSE. */
  readonly fallsBack?: boolean
  /** True if it speaks HTTP over local sockets. */
  readonly hasHttpSockets?: boolean
  /** True if it replaces variables of `envs` and `env_keys` in headers (Goose). */
  readonly hasHeaderVariables?: boolean
  /** Values that its client asks for, by id. */
  readonly inputs?: ReadonlyMap<string, Input>
  /** Variables that the client is assumed to have; undefined if unknown. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Keeps variables as the client writes them, for display. */
  readonly keepsVariables?: boolean
}

/** A server in our format, with notes for the user. */
export interface Normalised {
  readonly entry: ImportedEntry
  readonly notes: readonly string[]
  /** Names of variables that the client would ask for. */
  readonly inputs: readonly string[]
  /** Reasons, for people, why it would behave differently here. */
  readonly obstacles: readonly string[]
  /** Path of a file with more variables, as the client writes it. */
  readonly envFile: string | undefined
}

/** Converts a client's entry to ours. Omits settings that only the client supports, with a note. */
export const normalise = (source: ContainerMembers, dialect: Dialect): Normalised => {
  const read = new Reader(
    isObject(source['transport']) ? { ...source, ...source['transport'] } : source,
    dialect,
  )
  const entry = read.entry()
  return {
    entry: read.isUnusable ? { ...entry, disabled: true } : entry,
    notes: read.notes,
    inputs: [...read.inputs],
    obstacles: read.obstacles,
    envFile: read.envFile,
  }
}

const mapOf = (value: unknown): ContainerMembers => (isObject(value) ? value : {})

const ADDRESSES = ['url', 'uri', 'serverUrl', 'httpUrl', 'baseUrl', 'endpoint', 'sseUrl', 'tcp']
const NO_REACH = 'it has neither a command nor an address'
const NO_ENV_FILE = 'its envFile is not a path'
const NO_INPUTS: ReadonlyMap<string, Input> = new Map()
/** A shell replaces all other variables in a script. */
const SCRIPT_FORMS: readonly VariableForm[] = ['env', 'input', 'editor', 'file', 'secrets', 'run']

/** Returns whether a command is a text, a list of words, or an object with its path. */
const isCommand = (value: unknown): boolean => {
  if (Array.isArray(value)) return textsOf(value).some(word => filled(word) !== undefined)
  return isObject(value) ? isCommand(value['path']) : filled(value) !== undefined
}

/** Returns a member unless its value is empty. */
const ifAny = (key: string, value: Json & object): ImportedEntry =>
  Object.keys(value).length === 0 ? {} : { [key]: value }

/** Reads one entry and collects notes. */
class Reader {
  readonly notes: string[] = []
  readonly inputs = new Set<string>()
  readonly obstacles: string[] = []
  envFile: string | undefined
  isUnusable = false
  readonly #source: ContainerMembers
  readonly #dialect: Dialect

  constructor(source: ContainerMembers, dialect: Dialect) {
    this.#source = source
    this.#dialect = dialect
  }

  entry(): ImportedEntry {
    const source = this.#source
    const own = KEYS.own.filter(key => !READ_KEYS.has(key) && key !== 'timeouts' && key in source)
    this.#noteOthers()
    const { timeouts, notes } = timeLimitsIn(source, this.#dialect.timeoutUnit)
    this.notes.push(...notes)
    return {
      ...this.#reach(),
      ...(timeouts === undefined ? {} : { timeouts }),
      ...this.#tools(),
      ...Object.fromEntries(own.map(key => [key, source[key] as Json])),
      ...(isOffInClient(source) ? { disabled: true } : {}),
    }
  }

  /** A settings window writes all fields: an empty one is unused. With both filled, `type` decides. */
  #reach(): ImportedEntry {
    const source = this.#source
    const command = source['command'] ?? source['cmd']
    const isProgram = isCommand(command)
    const address = ADDRESSES.find(key => filled(source[key]) !== undefined)
    const type = this.#type()
    const isRemote = address !== undefined && (!isProgram || (type ?? 'stdio') !== 'stdio')
    if (isProgram && address !== undefined) this.#leaveOut(isRemote ? 'command' : address)
    // Goose uses variables at addresses, too.
    if (this.#dialect.hasHeaderVariables !== true)
      for (const key of unusedIn(source, isRemote)) this.#leaveOut(key)
    if (isRemote) return this.#address(address, type)
    if (isProgram) return this.#program(command)
    this.isUnusable = true
    this.notes.push(NO_REACH)
    this.obstacles.push(NO_REACH)
    return { command: '' }
  }

  /** Returns the transport; undefined without a known name. */
  #type(): ReturnType<typeof transportTypeOf> {
    const source = this.#source
    const names = ['type', 'transport', 'transportType', 'protocol'].filter(
      key => typeof source[key] === 'string' && source[key] !== '',
    )
    const known = names.map(key => transportTypeOf(String(source[key]))).find(type => type !== undefined)
    const [first] = names
    if (known === undefined && first !== undefined) this.#leaveOut(`${first} ${String(source[first])}`)
    return known
  }

  #leaveOut(key: string): void {
    this.notes.push(`left out: ${shown(key)}`)
  }

  #program(command: unknown): ImportedEntry {
    const source = isObject(command) ? { ...this.#source, ...command } : this.#source
    const first = isObject(command) ? command['path'] : command
    const given = argumentsIn(source['args'])
    if (given.isPartial) this.#leaveOut('args')
    const words = this.#withoutCmd([
      ...(Array.isArray(first) ? textsOf(first) : this.#words(scalarText(first) ?? '', given.values)),
      ...given.values,
    ])
    const env = this.#env(source)
    this.#readEnvFile(source['envFile'] ?? source['env_file'])
    const isOwn = (name: string): boolean => this.envFile !== undefined || Object.hasOwn(env, name)
    const [program = '', ...args] = words.map((word, at) => {
      const isScript = isShellScript(words, at)
      // Clients that expand variables leave those that are not set to the program or the shell.
      const isPassedOn = (name: string): boolean => this.#isUnset(name) && (isScript || isOwn(name))
      return this.#text(word, { isOwn, isScript, isPassedOn })
    })
    const cwd = filled(source['cwd'])
    if (cwd === undefined && typeof (source['cwd'] ?? '') !== 'string') this.#leaveOut('cwd')
    return {
      command: program,
      ...ifAny('args', args),
      ...ifAny('env', env),
      ...(cwd === undefined ? {} : { cwd: this.#text(cwd, { isOwn }) }),
    }
  }

  #isUnset(name: string): boolean {
    const { environment } = this.#dialect
    return environment !== undefined && !Object.hasOwn(environment, name)
  }

  /** Splits a command line given as the program, unless it is a path with spaces. */
  #words(command: string, args: readonly string[]): readonly string[] {
    if (args.length > 0) return [command]
    const words = commandWords(command)
    if (words.length > 1) this.notes.push('its command was one text, and is now a program with arguments')
    return words
  }

  #withoutCmd(words: readonly string[]): readonly string[] {
    if (sep === '\\' || this.#dialect.keepsVariables === true) return words
    const { words: left, notes } = withoutWindows(words)
    this.notes.push(...notes)
    return left
  }

  #env(source: ContainerMembers): Readonly<Record<string, Json>> {
    const given = ['env', 'environment', 'envs'].flatMap(key => {
      const { values, isPartial } = pairsIn(source[key], /=/)
      if (isPartial) this.#leaveOut(key)
      return values
    })
    const names = [source['env_vars'], source['env_keys']].flatMap(list =>
      Array.isArray(list) ? (list as unknown[]) : [],
    )
    const inherited = names.flatMap(each => scalarText(isObject(each) ? each['name'] : each) ?? [])
    return Object.fromEntries([
      ...inherited.map((name): [string, Json] => [name, `\${${name}}`]),
      ...given.map(([name, value]): [string, Json] => [name, this.#envValue(name, value)]),
    ])
  }

  #readEnvFile(given: unknown): void {
    const path = scalarText(given)
    if (path !== undefined && path !== '') this.envFile = this.#text(path)
    else if (given !== undefined && given !== null && path === undefined) {
      this.notes.push(NO_ENV_FILE)
      this.obstacles.push(NO_ENV_FILE)
    }
  }

  #envValue(name: string, value: unknown): Json {
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
    const text = scalarText(value)
    if (text === undefined) this.#leaveOut(name)
    return this.#text(text ?? '', { hasShellVariables: this.#dialect.hasShellVariables })
  }

  #address(key: string, type: ReturnType<typeof transportTypeOf>): ImportedEntry {
    const url = this.#text(scalarText(this.#source[key])?.trim() ?? '')
    const given = type === 'remote' || type === 'stdio' ? undefined : type
    const kind = given ?? (key === 'httpUrl' ? 'http' : undefined)
    if (/^(?:unix|pipe):/i.test(url)) return this.#socket(url, kind)
    // Without a type, the proxy falls back to HTTP+SSE, too.
    const isOpen = kind === 'http' && this.#dialect.fallsBack === true
    return {
      ...(kind === undefined || isOpen ? {} : { type: kind }),
      url,
      ...ifAny('headers', this.#headers()),
    }
  }

  #socket(url: string, kind: TransportType | undefined): ImportedEntry {
    const speaksHttp = kind === 'http' || kind === 'sse' || this.#dialect.hasHttpSockets === true
    const address = speaksHttp && !url.includes('#') ? `${url}#/` : url
    return { url: address, ...ifAny('headers', this.#headers()) }
  }

  #headers(): Readonly<Record<string, string>> {
    const source = this.#source
    for (const key of Object.keys(mapOf(source['requestOptions'])))
      if (key !== 'headers') this.#leaveOut(`requestOptions.${key}`)
    const given = [mapOf(source['requestOptions']), source]
      .flatMap((outer, at) => (at === 0 ? [outer['headers']] : [outer['http_headers'], outer['headers']]))
      .flatMap(value => {
        const { values, isPartial } = pairsIn(value, /:\s*|=/)
        if (isPartial) this.#leaveOut('headers')
        return values
      })
    const named = Object.entries(mapOf(source['env_http_headers'])).map(
      ([name, variable]) => [name, `\${${String(variable)}}`] as const,
    )
    const bearer = scalarText(source['bearer_token_env_var'] ?? source['bearerTokenEnv'])
    return Object.fromEntries([
      ...(bearer === undefined ? [] : [['Authorization', `Bearer \${${bearer}}`] as const]),
      ...this.#apiKey(source['apiKey']),
      ...named,
      ...given.flatMap(([name, value]) => {
        const text = scalarText(value)
        if (text === undefined) this.#leaveOut(name)
        return text === undefined ? [] : [[name, this.#header(text)] as const]
      }),
    ])
  }

  /** Goose replaces variables of the entry itself in headers. */
  #header(text: string): string {
    if (this.#dialect.hasHeaderVariables !== true) return this.#text(text)
    const env = this.#env(this.#source)
    return this.#text(text, {}, ['name', 'dollar']).replace(/(?<!\$)\$\{(\w+)\}/g, (all, name: string) =>
      Object.hasOwn(env, name) ? (scalarText(env[name]) ?? '') : `$${all}`,
    )
  }

  /** Reads a plain key (Continue), or a key with its header or query parameter (LibreChat). */
  #apiKey(given: unknown): readonly (readonly [string, string])[] {
    const key = this.#text(scalarText(isObject(given) ? given['key'] : given) ?? '')
    if (key === '') return []
    const way = isObject(given) ? given['authorization_type'] : 'bearer'
    if (way === 'custom') return [[scalarText(mapOf(given)['custom_header']) ?? 'X-Api-Key', key]]
    return [['Authorization', `${way === 'basic' ? 'Basic' : 'Bearer'} ${key}`]]
  }

  #tools(): ImportedEntry {
    const source = this.#source
    const { tools } = source
    const isOurs = isObject(tools) && ['allow', 'deny', 'rename', 'override'].some(key => key in tools)
    if (isOurs) return { tools: tools as Json }
    if (isObject(tools)) this.notes.push(APPROVALS)
    // In Goose, an empty list allows all tools.
    const goose = Array.isArray(source['available_tools']) && source['available_tools'].length > 0
    const allowed = [
      source['includeTools'],
      source['enabled_tools'],
      source['enabledTools'],
      goose ? source['available_tools'] : undefined,
      tools,
    ].filter(each => Array.isArray(each))
    const allow = allowed.flatMap(textsOf)
    const deny = [source['excludeTools'], source['disabled_tools'], source['disabledTools']].flatMap(textsOf)
    const rules = {
      // An empty list allows no tools.
      ...(allowed.length === 0 || allow.includes('*') ? {} : { allow }),
      ...(deny.length === 0 ? {} : { deny }),
    }
    return Object.keys(rules).length === 0 ? {} : { tools: rules }
  }

  /** Translates a text of the client; `forms` are the variables that the client replaces there. */
  #text(
    text: string,
    { isScript = false, ...place }: Partial<TextPlace> & { readonly isScript?: boolean } = {},
    forms = this.#dialect.variables ?? (isScript ? SCRIPT_FORMS : undefined),
  ): string {
    const { keepsVariables, inputs = NO_INPUTS } = this.#dialect
    if (keepsVariables === true) return text
    return translated(
      text,
      { ...place, forms, inputs },
      {
        asked: variable => this.inputs.add(variable),
        defaulted: id => this.notes.push(`\${input:${plainLine(id)}} has its default value`),
        runs: syntax => this.#refuse(syntax),
      },
    )
  }

  /** Notes a variable whose value only the client can find. */
  #refuse(syntax: string): void {
    this.isUnusable = true
    this.notes.push(
      syntax.startsWith('${cmd:')
        ? '"${cmd:" would run a program: replace it, and enable the server'
        : `"${shown(syntax)}" has a value only in the client: replace it, and enable the server`,
    )
    this.obstacles.push(`"${shown(syntax)}…" works only in the client`)
  }

  #noteOthers(): void {
    const found = Object.keys(this.#source)
    for (const [keys, note, obstacle] of LEFT_OUT) {
      if (!keys.split(' ').some(key => found.includes(key))) continue
      this.notes.push(note)
      if (obstacle !== undefined) this.obstacles.push(obstacle)
    }
    const known = new Set([
      ...READ_KEYS,
      ...KEYS.own,
      ...LEFT_OUT.flatMap(([keys]) => keys.split(' ')),
      'x-mcp-proxy',
    ])
    const others = found.filter(key => !known.has(key) && !/^(?:\/\/|_|#|x-|\$)/.test(key))
    if (others.length > 0) this.notes.push(`left out: ${others.slice(0, 10).map(shown).join(', ')}`)
  }
}

/** Formats a key for people: one line of bounded length. */
const shown = (key: string): string => plainLine(key).slice(0, 80)
