import { createHash } from 'node:crypto'
import type { ProxyConfig, ServerConfig } from './types.js'

/**
 * Removes settings that may differ between machines: the default `cwd`, which depends on the folder of the
 * file, forward proxies and certificates. Pure.
 */
export const anywhere = (server: ServerConfig): ServerConfig => {
  const { transport, written } = server
  if ('url' in transport) return { ...server, transport: { ...transport, proxy: undefined, tls: undefined } }
  return transport.kind === 'stdio' && written?.cwd === undefined
    ? { ...server, transport: { ...transport, cwd: '/' } }
    : server
}

/**
 * Hashes the parts of a configuration that clients can notice: replicas must agree on them. Covers secrets,
 * so show it only encrypted or keyed. Pure.
 */
export const configDigest = (config: ProxyConfig): string => {
  const { auth, views, clients, expose, resultsMax, pageSize, limits } = config
  const lock = config.lock && { ...config.lock, file: undefined, locked: undefined }
  const servers = config.servers.map(server => ({ ...anywhere(server), written: undefined }))
  const same = { servers, auth, views, clients, expose, resultsMax, pageSize, limits, lock }
  return createHash('sha256').update(JSON.stringify(same)).digest('base64url')
}
