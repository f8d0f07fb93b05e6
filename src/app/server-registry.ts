import { aliasOf } from '../catalog/names/names.js'
import type { Showing } from '../catalog/showing.js'
import type { ServerConfig } from '../config/types.js'
import { Fault } from '../kernel/faults.js'
import type { ServerOptions } from '../peers/options.js'

/** What changed in the servers that stay. */
export interface Changed {
  /** By name: those whose place others take. */
  readonly replaced: readonly string[]
}

/**
 * The configured servers: what the layers below know of each, and the configuration that it came from. The options of a server
 * stand for it as long as it is served.
 */
export class ServerRegistry {
  #byName: ReadonlyMap<string, ServerOptions> = new Map()
  /** Also of servers that have left and still have calls under way. */
  readonly #configs = new WeakMap<ServerOptions, ServerConfig>()

  /** Throws a Fault as `checkServable` does. */
  constructor(servers: readonly ServerConfig[]) {
    this.reload(servers, { replaced: [] })
  }

  /** In the order of the configuration. */
  get servers(): readonly ServerOptions[] {
    return [...this.#byName.values()]
  }

  /** What a server was configured to be last. */
  readonly configOf = (options: ServerOptions): ServerConfig | undefined => this.#configs.get(options)

  /** How a server is shown to clients. */
  readonly showingOf = ({ options }: { readonly options: ServerOptions }): Showing => {
    const config = this.#configs.get(options)
    return {
      prefix: config?.prefix !== false,
      uris: config?.uris ?? 'prefix',
      tools: config?.tools ?? { allow: undefined, deny: [], rename: {}, override: {} },
    }
  }

  /** The options of those with these names. */
  named(names: readonly string[]): ReadonlySet<ServerOptions> {
    return new Set(names.flatMap(name => this.#byName.get(name) ?? []))
  }

  /** Goes on with other servers; those that are not new keep their options, with new values in them. Throws like `checkServable`, and has done nothing then. */
  reload(servers: readonly ServerConfig[], { replaced }: Changed): void {
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

/** Throws a Fault `invalid-params` for servers that could not be told apart; the configuration file is checked before. */
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

const toOptions = (server: ServerConfig): ServerOptions => ({
  name: server.name,
  alias: aliasFor(server),
  sharing: server.sharing,
  start: server.start,
  replay: server.replay,
  serialize: server.serialize,
  isProcess: server.transport.kind === 'stdio',
  limits: server.limits,
  timeouts: server.timeouts,
  restart: server.restart,
  idleStopMs: server.idleStopMs,
})

/** What stands in front of the names of a server's tools, as clients see it; undefined if nothing does. */
export const prefixOf = ({ name, prefix }: ServerConfig): string | undefined =>
  prefix === false ? undefined : `${aliasOf(name, prefix)}__`

/** The servers that could have a tool of this exposed name; the others need not be started to call it. */
export const couldOwn = (servers: readonly ServerConfig[], exposed: string): ServerConfig[] =>
  servers.filter(server => exposed.startsWith(prefixOf(server) ?? ''))
