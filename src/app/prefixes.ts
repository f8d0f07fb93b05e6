import { aliasOf } from '../catalog/names/names.js'
import type { ServerConfig } from '../config/types.js'

/** What stands in front of the names of a server's tools, as clients see it; undefined if nothing does. */
export const prefixOf = ({ name, prefix }: ServerConfig): string | undefined =>
  prefix === false ? undefined : `${aliasOf(name, prefix)}__`

/** The servers that could have a tool of this exposed name; the others need not be started to call it. */
export const couldOwn = (servers: readonly ServerConfig[], exposed: string): ServerConfig[] =>
  servers.filter(server => exposed.startsWith(prefixOf(server) ?? ''))
