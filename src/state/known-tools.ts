import { createToolFilter } from '../catalog/exposure.js'
import { aliasOf, exposedName } from '../catalog/names/names.js'
import type { ServerConfig } from '../config/types.js'
import { memberOf, stringOf } from '../kernel/json/text.js'
import { fingerprint } from './server-cache.js'
import { cacheFolder, decodeServer, readCacheFile } from './server-cache-file.js'

/**
 * Returns the tools that these servers listed in their last run, under their exposed names, for shell
 * completion. Starts nothing.
 */
export const knownTools = (servers: readonly ServerConfig[], stateDir: string): readonly string[] => {
  const names = servers.flatMap(server => {
    const bytes = readCacheFile(cacheFolder(stateDir), fingerprint(server))
    const profiles = (bytes && decodeServer(bytes)) ?? new Map<never, never>()
    const filter = createToolFilter(server.tools)
    const found = [...profiles.values()].flatMap(({ lists }) => lists.tools ?? [])
    const own = found.flatMap(tool => stringOf(memberOf(tool, 'name')) ?? [])
    return own.filter(name => filter.isAllowed(name)).map(name => exposed(server, filter.renamed(name)))
  })
  return [...new Set(names)]
}

const exposed = ({ name: server, prefix }: ServerConfig, name: string): string =>
  prefix === false ? name : exposedName(aliasOf(server, prefix), name)

/** Returns a server's own tool names of its last run, and the rules for exposed names. */
export const toolNamesOf = (server: ServerConfig, stateDir: string) => {
  const filter = createToolFilter(server.tools)
  const bytes = readCacheFile(cacheFolder(stateDir), fingerprint(server))
  const profiles = (bytes && decodeServer(bytes)) ?? new Map<never, never>()
  const found = [...profiles.values()].flatMap(({ lists }) => lists.tools ?? [])
  const names = found.flatMap(tool => stringOf(memberOf(tool, 'name')) ?? [])
  const shownAs = (own: string): string => exposed(server, filter.renamed(own))
  return {
    alias: aliasOf(server.name, server.prefix === false ? undefined : server.prefix),
    tools: [...new Set(names)].map(own => ({ own, shown: shownAs(own) })),
    shownAs,
  }
}
