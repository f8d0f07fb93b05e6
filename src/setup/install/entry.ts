import type { Client } from '../clients/clients.js'
import type { Json } from '../edit/change.js'
import type { Terms } from './journal.js'

/** The name of our entry in every client. */
export const KEY = 'mcp-proxy'

/** Programs and files that an entry names. */
export interface Programs {
  /** Absolute paths of Node, of the shim and of our configuration. */
  readonly node: string
  readonly connect: string
  readonly config: string
  /** Of this package. */
  readonly version: string
}

/** Our entry for a client; undefined if it knows no addresses. A project gets no paths of this machine. */
export const entryFor = (
  client: Client,
  { via, url, view, project }: Terms,
  { node, connect, config, version }: Programs,
): Readonly<Record<string, Json>> | undefined => {
  if (via === 'http') return client.http?.(view === undefined ? url : `${url.replace(/\/$/, '')}/${view}`)
  const own = [
    ...['--client', client.id],
    ...(client.passesWorkspace === true ? ['--workspace', '${workspaceFolder}'] : []),
    ...(view === undefined ? [] : ['--view', view]),
  ]
  if (project === undefined)
    return client.stdio({ command: node, args: [connect, '--config', config, ...own] })
  const [major, minor] = version.split('.')
  return client.stdio({
    command: 'npx',
    args: ['-y', `mcp-proxy-daemon@${major}.${minor}`, 'connect', ...own],
  })
}
