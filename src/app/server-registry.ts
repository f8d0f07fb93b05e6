import { createHash } from 'node:crypto'
import { accessOf } from '../auth/resource-server/access-rules.js'
import type { Exposure, ListLock } from '../catalog/exposure.js'
import { aliasOf } from '../catalog/names/names.js'
import type { ProxyConfig, ServerAccess, ServerConfig, Timeouts } from '../config/types.js'
import { namesWorkspace } from '../control/workspace.js'
import { Fault } from '../kernel/faults.js'
import { matcherOf } from '../kernel/globs.js'
import { headerMatcher, passedHeaders } from '../kernel/header-patterns.js'
import type { Logger } from '../kernel/logger.js'
import { portOf } from '../kernel/url-address.js'
import type { Access } from '../model/access.js'
import type { ServerOptions } from '../peers/dial.js'

/** Returns the access check of a server. Undefined if every caller has access. */
export type AccessOf = (config: ServerAccess) => Access | undefined

/** Returns the comparison of a server with the lock file. Undefined if it is not locked. */
export type LockOf = (server: string) => ListLock | undefined

/** Creates the registry of a configuration. Throws a Fault like `checkServable`. */
export const serverRegistry = (
  { servers, auth }: ProxyConfig,
  log: Logger,
  lockOf?: LockOf,
): ServerRegistry => new ServerRegistry(servers, auth && (access => accessOf(access, log)), lockOf)

/** The configured servers and their options objects, which identify them while they are served. */
export class ServerRegistry {
  #byName: ReadonlyMap<string, ServerOptions> = new Map()
  readonly #accessOf: AccessOf | undefined
  readonly #lockOf: LockOf | undefined
  /** Includes removed servers with calls in flight. */
  readonly #configs = new WeakMap<ServerOptions, ServerConfig>()

  /** `accessOf` is undefined without `auth`. Throws a Fault like `checkServable`. */
  constructor(servers: readonly ServerConfig[], accessOf?: AccessOf, lockOf?: LockOf) {
    this.#accessOf = accessOf
    this.#lockOf = lockOf
    this.reload(servers, [])
  }

  get servers(): readonly ServerOptions[] {
    return [...this.#byName.values()]
  }

  readonly configOf = (options: ServerOptions): ServerConfig | undefined =>
    this.#configs.get(options.owned?.by ?? options)

  readonly exposureOf = ({ options }: { readonly options: ServerOptions }): Exposure => {
    const config = this.configOf(options)
    return {
      prefix: config?.prefix !== false,
      uris: config?.uris ?? 'prefix',
      tags: config?.tags ?? [],
      description: config?.description,
      tools: config?.tools ?? { allow: undefined, deny: [], rename: {}, override: {} },
      access: config === undefined ? undefined : this.#accessOf?.(config.access),
      lock: this.#lockOf?.(options.name),
    }
  }

  named(names: readonly string[]): ReadonlySet<ServerOptions> {
    return new Set(names.flatMap(name => this.#byName.get(name) ?? []))
  }

  /** Keeps the options of servers that are not `replaced`. Throws like `checkServable`. */
  reload(servers: readonly ServerConfig[], replaced: readonly string[]): void {
    checkServable(servers)
    this.#byName = new Map(
      servers.map(config => {
        const known = replaced.includes(config.name) ? undefined : this.#byName.get(config.name)
        const options = known === undefined ? toOptions(config) : Object.assign(known, toOptions(config))
        this.#configs.set(options, config)
        return [config.name, options]
      }),
    )
  }
}

/** Throws a Fault `invalid-params` for servers with the same name or prefix. */
const checkServable = (servers: readonly ServerConfig[]): void => {
  const names = new Set<string>()
  const aliases = new Map<string, string>()
  for (const server of servers) {
    const { name } = server
    const alias = aliasFor(server)
    const other = aliases.get(alias)
    if (names.has(name)) throw new Fault('invalid-params', `Two servers have the name ${name}`)
    if (other !== undefined) {
      throw new Fault('invalid-params', `Servers ${other} and ${name} have the same prefix, ${alias}`)
    }
    names.add(name)
    aliases.set(alias, name)
  }
}

const aliasFor = ({ name, prefix }: ServerConfig): string =>
  aliasOf(name, prefix === false ? undefined : prefix)

const PROTOCOLS = {
  stdio: undefined,
  socket: undefined,
  ws: 'websocket',
  http: 'http',
  sse: 'http',
  auto: 'http',
} as const satisfies Record<ServerConfig['transport']['kind'], ServerOptions['protocol']>

/** Returns the address of a server's transport. */
const addressOf = (transport: ServerConfig['transport']): ServerOptions['address'] => {
  if (transport.kind === 'stdio') return undefined
  if (transport.kind === 'socket') return { host: transport.path, port: undefined }
  if (transport.socketPath !== undefined) return { host: transport.socketPath, port: undefined }
  const url = new URL(transport.url)
  return { host: url.hostname, port: portOf(url) }
}

const toOptions = (server: ServerConfig): ServerOptions => ({
  name: server.name,
  alias: aliasFor(server),
  sharing: server.sharing,
  isPerPrincipal: server.credentials === 'per-principal',
  signInTool: server.signInTool,
  start: server.credentials === 'per-principal' ? 'lazy' : server.start,
  replay: server.replay,
  serialize: server.serialize,
  propagate: server.propagate,
  passing: passingTo(server),
  needsWorkspace: server.sharing === 'workspace' || namesWorkspace(server.transport),
  isProcess: server.transport.kind === 'stdio',
  protocol: PROTOCOLS[server.transport.kind],
  address: addressOf(server.transport),
  limits: server.limits,
  timeouts: { ...server.timeouts, toolMs: toolTimeouts(server.timeouts) },
  restart: server.restart,
  idleStopMs: server.idleStopMs,
})

const passingTo = ({ transport }: ServerConfig): ServerOptions['passing'] => {
  if (!('url' in transport) || transport.forwardHeaders === undefined) return undefined
  const isMeant = headerMatcher(transport.forwardHeaders)
  // A configured value holds for all clients.
  const fixed = new Set(Object.keys(transport.headers).map(name => name.toLowerCase()))
  return {
    of: ({ headers }) => passedHeaders(headers, name => isMeant(name) && !fixed.has(name)),
    keyOf: headers =>
      createHash('sha256')
        .update(JSON.stringify(Object.entries(headers).sort()))
        .digest('base64url'),
  }
}

/** Returns the inactivity timeouts of tools, by their own names. Undefined if all are the same. */
const toolTimeouts = ({ tools }: Timeouts): ((own: string) => number | undefined) | undefined => {
  if (tools.length === 0) return undefined
  const rules = tools.map(([glob, ms]) => ({ matches: matcherOf([glob]), ms }))
  return own => rules.find(({ matches }) => matches(own))?.ms
}

/** Returns the prefix of a server's tools, as clients see it. Undefined for none. */
export const prefixOf = ({ name, prefix }: ServerConfig): string | undefined =>
  prefix === false ? undefined : `${aliasOf(name, prefix)}__`

/**
 * Returns the servers that may have a tool with this exposed name. A call of it needs to start only these.
 */
export const couldOwn = (servers: readonly ServerConfig[], exposed: string): ServerConfig[] =>
  servers.filter(server => exposed.startsWith(prefixOf(server) ?? ''))
