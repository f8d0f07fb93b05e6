import { createHash } from 'node:crypto'
import type { ProxyConfig, ServerConfig } from './types.js'

/** A server as it is wherever its file lies, where its program starts if no other folder is named. Pure. */
export const anywhere = (server: ServerConfig): ServerConfig => {
  const { transport, written } = server
  return transport.kind === 'stdio' && written?.cwd === undefined
    ? { ...server, transport: { ...transport, cwd: '/' } }
    : server
}

/**
 * Equal for configurations that make the same proxy, wherever that listens and whatever it logs. Of secrets,
 * too: it may be shown only where it was made unreadable. Pure.
 */
export const configDigest = (config: ProxyConfig): string => {
  const { auth, views, clients, expose, resultsMax, pageSize, limits } = config
  const servers = config.servers.map(server => ({ ...anywhere(server), written: undefined }))
  const same = { servers, auth, views, clients, expose, resultsMax, pageSize, limits }
  return createHash('sha256').update(JSON.stringify(same)).digest('base64url')
}
