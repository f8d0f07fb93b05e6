import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { BIN } from './cli.js'
import type { Address, ClientKind } from './matrix-transports.js'
import { socketFile } from './platform.js'
import { startProxy } from './proxies.js'

/** How every proxy is configured, beside its servers. */
const SETTINGS = {
  // A server's page holds two items: neither is cut where the other is.
  pageSize: 3,
  // Capabilities are those of the servers that have started by then; this machine may have much else to do.
  startupWait: '20s',
  // What one proxy learnt of a server is nothing to the next: each pair stands for itself.
  knownServers: false,
}

/** A proxy, and where it is. */
export interface Door {
  readonly address: Address
  /** How many sessions the proxy has, where it runs in this process and tells. */
  readonly sessions: () => number | undefined
}

/** An address of which nothing is known yet. */
export const NOWHERE: Address = { command: [], url: '', sseUrl: '', wsUrl: '', path: '' }

/** Starts a proxy of these servers; for clients on stdio it is a process of its own, which they start, else it runs here. */
export const openDoor = async (
  t: Test,
  kind: ClientKind,
  servers: Readonly<Record<string, object>>,
): Promise<Door> => {
  if (kind === 'stdio') {
    const file = join(t.testdir(), 'mcp.json')
    writeFileSync(file, JSON.stringify({ mcpServers: servers, ...SETTINGS }))
    const command = [process.execPath, BIN, 'stdio', '--config', file]
    return { address: { ...NOWHERE, command }, sessions: () => undefined }
  }
  const proxy = startProxy(t, servers, SETTINGS)
  if (kind === 'socket') {
    const { path } = await proxy.listenSocket(socketFile(t))
    return { address: { ...NOWHERE, path }, sessions: () => undefined }
  }
  const face = await proxy.listen({ port: 0 })
  const { url, sseUrl = '', wsUrl = '' } = face
  return { address: { ...NOWHERE, url, sseUrl, wsUrl }, sessions: () => face.sessions }
}
