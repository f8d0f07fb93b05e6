import { sep } from 'node:path'
import { KEYS } from '../../config/schema/keys.generated.js'
import { isObject } from '../../kernel/object.js'
import { plainLine } from '../../kernel/secrets/plain-text.js'
import type { Json } from '../edit/change.js'
import type { ContainerMembers } from '../edit/containers.js'
import { commandWords } from './command-line.js'

/** An entry of `mcpServers` in our own file. */
export type ImportedEntry = Readonly<Record<string, Json>>

/** Conventions of a program's file. */
export interface Dialect {
  readonly timeoutUnit: 's' | 'ms'
  /** True if `$NAME` and `%NAME%` are variables in its `env`. */
  readonly hasShellVariables: boolean
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

const KINDS: Readonly<Partial<Record<string, 'http' | 'sse' | 'ws'>>> = {
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  streamable_http: 'http',
  sse: 'sse',
  ws: 'ws',
  websocket: 'ws',
}

const REACH =
  'command cmd args env envFile env_file environment envs env_vars env_keys cwd url uri serverUrl httpUrl baseUrl tcp'
const READ = new Set(
  `${REACH} type transport transportType protocol headers http_headers env_http_headers requestOptions apiKey
  bearer_token_env_var bearerTokenEnv disabled enabled tools includeTools enabled_tools excludeTools disabled_tools
  disabledTools timeout requestTimeout request_timeout_ms tool_timeout_sec initTimeout connectionTimeout
  startup_timeout_sec startup_timeout_ms name serverName title description comment icon iconPath faviconUrl gallery
  version metadata source settings dev required chatMenu serverInstructions customUserVars remoteConfigured
  stderr startup sseReadTimeout alwaysLoad supports_parallel_tool_calls bundled display_name`.split(/\s+/),
)

const APPROVALS = 'approvals are not imported: the client asks at least as often as before'

/** Keys that are not imported. With an obstacle, the server depends on the key. */
const LEFT: readonly (readonly [keys: string, note: string, obstacle?: string])[] = [
  ['alwaysAllow autoApprove trust default_tools_approval_mode', APPROVALS],
  [
    'oauth auth authProviderType requiresOAuth oauth_headers oauth_resource scopes obo',
    'log in again: logins stay in the client',
    'the client is signed in to it',
  ],
  [
    'headersHelper',
    'headersHelper is left out: write its headers into "headers"',
    'headersHelper runs only in the client',
  ],
]

/** Variable syntaxes of other clients, and `$${`, which is an escaped `${`. */
const VARIABLE =
  /\$\$\{|\$\{\{\s*secrets\.(\w+)\s*\}\}|\$\{env:(\w+)((?::-[^}]*)?)\}|\$env:(\w+)|\$\{input:([^}]+)\}|\$\{(?:pathSeparator|\/)\}|\$\{cmd:[^}]*\}/g
const SHELL_VARIABLE = /\$([A-Za-z_]\w*)|%([A-Za-z_]\w*)%/g

/** Returns a valid name for `${…}`. */
export const variableName = (text: string): string => {
  const name = text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[_\d]+|_+$/g, '')
  return name === '' ? 'SECRET' : name
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined

const mapOf = (value: unknown): ContainerMembers => (isObject(value) ? value : {})

const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.flatMap(each => textOf(each) ?? []) : []

interface VariableParts {
  readonly name: string | undefined
  readonly fallback: string | undefined
  /** Id of a value that the client asks for. */
  readonly input: string | undefined
}

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
    const isOff = source['disabled'] === true || source['enabled'] === false
    const own = KEYS.own.filter(key => !READ.has(key) && key !== 'timeouts' && key in source)
    this.#noteOthers()
    return {
      ...this.#reach(),
      ...this.#timeouts(),
      ...this.#tools(),
      ...Object.fromEntries(own.map(key => [key, source[key] as Json])),
      ...(isOff ? { disabled: true } : {}),
    }
  }

  #reach(): ImportedEntry {
    const command = this.#source['command'] ?? this.#source['cmd']
    if (command !== undefined) return this.#program(command)
    return this.#address()
  }

  #program(command: unknown): ImportedEntry {
    const source = isObject(command) ? { ...this.#source, ...command } : this.#source
    const first = isObject(command) ? command['path'] : command
    const words = this.#withoutCmd([
      ...(Array.isArray(first) ? textsOf(first) : this.#words(String(first), source)),
      ...textsOf(source['args']),
    ])
    const [program = '', ...args] = words.map(word => this.#text(word))
    const env = this.#env(source)
    this.#readEnvFile(source['envFile'] ?? source['env_file'])
    const cwd = textOf(source['cwd'])
    return {
      command: program,
      ...(args.length === 0 ? {} : { args }),
      ...(Object.keys(env).length === 0 ? {} : { env }),
      ...(cwd === undefined ? {} : { cwd: this.#text(cwd) }),
    }
  }

  /** Splits a command line given as the program, unless it is a path with spaces. */
  #words(command: string, source: ContainerMembers): readonly string[] {
    if (textsOf(source['args']).length > 0) return [command]
    const words = commandWords(command)
    if (words.length > 1) this.notes.push('its command was one text, and is now a program with arguments')
    return words
  }

  /** `cmd /c npx …` in a file from Windows means `npx …` on other systems. */
  #withoutCmd(words: readonly string[]): readonly string[] {
    const [program = '', ...args] = words
    const at = args.findIndex(arg => !/^\/[abd-z](?::\w+)?$/i.test(arg))
    const rest = args.slice(at + 1)
    const isCmd = /^(?:.*[/\\])?cmd(?:\.exe)?$/i.test(program) && /^\/c$/i.test(args[at] ?? '')
    if (sep === '\\' || !isCmd || rest.length === 0 || this.#dialect.keepsVariables === true) return words
    this.notes.push('"cmd /c" is for Windows, and was left out')
    return rest.length === 1 ? commandWords(rest[0] ?? '') : rest
  }

  #env(source: ContainerMembers): Readonly<Record<string, Json>> {
    const given = { ...mapOf(source['env']), ...mapOf(source['environment']), ...mapOf(source['envs']) }
    const names = [source['env_vars'], source['env_keys']].flatMap(list =>
      Array.isArray(list) ? (list as unknown[]) : [],
    )
    const inherited = names.flatMap(each => textOf(isObject(each) ? each['name'] : each) ?? [])
    return Object.fromEntries([
      ...inherited.map((name): [string, Json] => [name, `\${${name}}`]),
      ...Object.entries(given).map(([name, value]): [string, Json] => [name, this.#envValue(value)]),
    ])
  }

  #readEnvFile(given: unknown): void {
    const path = textOf(given)
    if (path !== undefined && path !== '') this.envFile = this.#text(path)
    else if (given !== undefined && path === undefined) this.obstacles.push('its envFile is not a path')
  }

  #envValue(value: unknown): Json {
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return value
    const text = this.#text(textOf(value) ?? '')
    if (!this.#dialect.hasShellVariables) return text
    return text.replace(SHELL_VARIABLE, (_all, one?: string, other?: string) => `\${${one ?? other ?? ''}}`)
  }

  #address(): ImportedEntry {
    const source = this.#source
    const key = ['url', 'uri', 'serverUrl', 'httpUrl', 'baseUrl', 'tcp'].find(
      name => textOf(source[name]) !== undefined,
    )
    const url = this.#text(textOf(source[key ?? '']) ?? '')
    const type = [source['type'], source['transport'], source['transportType'], source['protocol']].find(
      value => typeof value === 'string',
    )
    const kind = KINDS[String(type)] ?? (key === 'httpUrl' ? 'http' : undefined)
    const headers = this.#headers()
    return {
      ...(kind === undefined || /^(?:unix|pipe):/.test(url) ? {} : { type: kind }),
      url,
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
    }
  }

  #headers(): Readonly<Record<string, string>> {
    const source = this.#source
    const given = {
      ...mapOf(mapOf(source['requestOptions'])['headers']),
      ...mapOf(source['http_headers']),
      ...mapOf(source['headers']),
    }
    const named = Object.entries(mapOf(source['env_http_headers'])).map(
      ([name, variable]) => [name, `\${${String(variable)}}`] as const,
    )
    const bearer = textOf(source['bearer_token_env_var'] ?? source['bearerTokenEnv'])
    return Object.fromEntries([
      ...(bearer === undefined ? [] : [['Authorization', `Bearer \${${bearer}}`] as const]),
      ...this.#apiKey(source['apiKey']),
      ...named,
      ...Object.entries(given).map(([name, value]) => [name, this.#text(textOf(value) ?? '')] as const),
    ])
  }

  /** Reads a plain key (Continue), or a key with its header or query parameter (LibreChat). */
  #apiKey(given: unknown): readonly (readonly [string, string])[] {
    const key = this.#text(textOf(isObject(given) ? given['key'] : given) ?? '')
    if (key === '') return []
    const way = isObject(given) ? given['authorization_type'] : 'bearer'
    if (way === 'custom') return [[textOf(mapOf(given)['custom_header']) ?? 'X-Api-Key', key]]
    return [['Authorization', `${way === 'basic' ? 'Basic' : 'Bearer'} ${key}`]]
  }

  #timeouts(): ImportedEntry {
    const source = this.#source
    if (isObject(source['timeouts'])) return { timeouts: source['timeouts'] as Json }
    const unit = this.#dialect.timeoutUnit === 's' ? 1000 : 1
    const call = firstMs([
      [source['timeout'], unit],
      [source['requestTimeout'] ?? source['request_timeout_ms'], 1],
      [source['tool_timeout_sec'], 1000],
    ])
    const connect = firstMs([
      [source['startup_timeout_sec'], 1000],
      [source['startup_timeout_ms'] ?? source['initTimeout'] ?? source['connectionTimeout'], 1],
    ])
    const timeouts = {
      ...(connect === undefined ? {} : { connect: duration(connect) }),
      ...(call === undefined ? {} : { call: duration(call) }),
      ...(call !== undefined && call > LONGEST_CALL_MS ? { total: duration(call) } : {}),
    }
    return Object.keys(timeouts).length === 0 ? {} : { timeouts }
  }

  #tools(): ImportedEntry {
    const source = this.#source
    const { tools } = source
    const isOurs = isObject(tools) && ['allow', 'deny', 'rename', 'override'].some(key => key in tools)
    if (isOurs) return { tools: tools as Json }
    if (isObject(tools)) this.notes.push(APPROVALS)
    const allowed = [source['includeTools'], source['enabled_tools'], tools].filter(each =>
      Array.isArray(each),
    )
    const allow = allowed.flatMap(textsOf)
    const deny = [source['excludeTools'], source['disabled_tools'], source['disabledTools']].flatMap(textsOf)
    const rules = {
      // An empty list allows no tools.
      ...(allowed.length === 0 || allow.includes('*') ? {} : { allow }),
      ...(deny.length === 0 ? {} : { deny }),
    }
    return Object.keys(rules).length === 0 ? {} : { tools: rules }
  }

  #text(text: string): string {
    if (this.#dialect.keepsVariables === true) return text
    return text.replace(VARIABLE, (all: string, ...parts: (string | undefined)[]) => {
      const [secret, env, fallback, shell, input] = parts
      return this.#variable(all, { name: secret ?? env ?? shell, fallback, input })
    })
  }

  /** Returns any client's variable in our syntax. */
  #variable(all: string, { name, fallback = '', input }: VariableParts): string {
    if (name !== undefined) return `\${${name}${fallback}}`
    if (input !== undefined) {
      const asked = variableName(input)
      this.inputs.add(asked)
      return `\${${asked}}`
    }
    if (all === '$${') return all
    if (!all.startsWith('${cmd:')) return sep
    this.isUnusable = true
    this.notes.push('"${cmd:" would run a program: replace it, and enable the server')
    this.obstacles.push('"${cmd:…}" works only in the client')
    return `$${all}`
  }

  #noteOthers(): void {
    const found = Object.keys(this.#source)
    for (const [keys, note, obstacle] of LEFT) {
      if (!keys.split(' ').some(key => found.includes(key))) continue
      this.notes.push(note)
      if (obstacle !== undefined) this.obstacles.push(obstacle)
    }
    const known = new Set([...READ, ...KEYS.own, ...LEFT.flatMap(([keys]) => keys.split(' ')), 'x-mcp-proxy'])
    const others = found.filter(key => !known.has(key) && !/^(?:\/\/|_|#|x-|\$)/.test(key))
    if (others.length > 0) this.notes.push(`left out: ${others.slice(0, 10).map(shown).join(', ')}`)
  }
}

/** Calls longer than this also need a longer total time limit. */
const LONGEST_CALL_MS = 600_000

/** Formats a key for people: one line of bounded length. */
const shown = (key: string): string => plainLine(key).slice(0, 80)

const firstMs = (given: readonly (readonly [value: unknown, unitMs: number])[]): number | undefined => {
  const found = given.find(([value]) => typeof value === 'number')
  const ms = found === undefined ? 0 : Number(found[0]) * found[1]
  // Clients treat smaller values as mistakes, and so do we.
  return ms >= 1000 && Number.isFinite(ms) ? Math.round(ms) : undefined
}

const duration = (ms: number): string => (ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`)
