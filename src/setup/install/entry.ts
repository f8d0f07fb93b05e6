import { isAbsolute, resolve } from 'node:path'
import { OWN_PACKAGE } from '../../kernel/machine/own-package.js'
import { serverOfView } from '../../kernel/server-view.js'
import type { ClientProgram } from '../clients/clients.js'
import type { ClientMachine } from '../clients/machine.js'
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
  /** Version of this package. */
  readonly version: string
  /** Variables that locate the daemon, as `placeVariables` returns them. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Returns the variables that move the daemon's folders, with their current values. A client started by the
 * desktop lacks them and would start a second daemon.
 */
export const placeVariables = ({ env, platform, cwd }: ClientMachine): Readonly<Record<string, string>> => {
  const runDir = env['MCP_PROXY_RUN_DIR'] ?? ''
  const stateHome = platform === 'win32' ? '' : (env['XDG_STATE_HOME'] ?? '')
  return {
    ...(runDir === '' ? {} : { MCP_PROXY_RUN_DIR: resolve(cwd, runDir) }),
    ...(isAbsolute(stateHome) ? { XDG_STATE_HOME: stateHome } : {}),
  }
}

/**
 * Returns our entry for a client; undefined if it does not support URLs. A project entry contains no paths of
 * this machine.
 */
export const entryFor = (
  client: ClientProgram,
  { via, url, view, project }: Terms,
  { node, connect, config, version, env = {} }: Programs,
): Readonly<Record<string, Json>> | undefined => {
  if (via === 'http') return client.http?.(view === undefined ? url : addressOf(url, view))
  const own = [
    ...['--client', client.id],
    ...(client.passesWorkspace === true ? ['--workspace', '${workspaceFolder}'] : []),
    ...(view === undefined ? [] : ['--view', view]),
  ]
  if (project === undefined)
    return client.stdio({ command: node, args: [connect, '--config', config, ...own], env })
  return client.stdio(launchOnPath(version, own))
}

/** Returns the address of a view, or of a server, next to the main one. */
const addressOf = (url: string, view: string): string => {
  const whole = url.replace(/\/$/, '')
  const server = serverOfView(view)
  return server === undefined
    ? `${whole}/${view}`
    : `${whole.replace(/\/mcp$/, '')}/servers/${encodeURIComponent(server)}/mcp`
}

/** Starts this program on each team member's machine. */
const launchOnPath = (version: string, own: readonly string[], { name, isPublished } = OWN_PACKAGE) => {
  const [major, minor] = version.split('.')
  return isPublished
    ? { command: 'npx', args: ['-y', `${name}@${major}.${minor}`, 'connect', ...own] }
    : { command: 'mcp-proxy', args: ['connect', ...own] }
}
