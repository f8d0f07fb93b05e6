import type { Exposure } from '../catalog/exposure.js'
import { aliasOf } from '../catalog/names/names.js'
import type { ServerConfig } from '../config/types.js'
import { Fault } from '../kernel/faults.js'
import type { ServerOptions } from '../peers/dial.js'

/** The configured servers, and the options that stand for each of them while it is served. */
export class ServerRegistry {
  #byName: ReadonlyMap<string, ServerOptions> = new Map()
  /** Also of servers that have left and still have calls under way. */
  readonly #configs = new WeakMap<ServerOptions, ServerConfig>()

  /** Throws a Fault as `checkServable` does. */
  constructor(servers: readonly ServerConfig[]) {
    this.reload(servers, [])
  }

  get servers(): readonly ServerOptions[] {
    return [...this.#byName.values()]
  }

  readonly configOf = (options: ServerOptions): ServerConfig | undefined => this.#configs.get(options)

  readonly exposureOf = ({ options }: { readonly options: ServerOptions }): Exposure => {
    const config = this.#configs.get(options)
    return {
      prefix: config?.prefix !== false,
      uris: config?.uris ?? 'prefix',
      tools: config?.tools ?? { allow: undefined, deny: [], rename: {}, override: {} },
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

/** Throws a Fault `invalid-params` for servers that share a name or prefix. */
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

/** The prefix of a server's tools as clients see them; undefined if they have none. */
export const prefixOf = ({ name, prefix }: ServerConfig): string | undefined =>
  prefix === false ? undefined : `${aliasOf(name, prefix)}__`

/** The servers that could have a tool with this exposed name; the others need not be started to call it. */
export const couldOwn = (servers: readonly ServerConfig[], exposed: string): ServerConfig[] =>
  servers.filter(server => exposed.startsWith(prefixOf(server) ?? ''))
