import { isAbsolute } from 'node:path'
import { isNamedPipe, socketPathOf } from '../../kernel/socket-path.js'
import { DEFAULTS } from '../defaults.js'
import { type Item, members } from '../file/tree.js'
import type { SettingsValues } from '../schema/validate.js'
import type { ListenConfig } from '../types.js'
import type { Around } from './entry.js'
import { expandedWhole } from './expand-variables.js'

/** Whether `listen` has its short form, the address of a socket in place of an object. */
export const isShortForm = (item: Item | undefined): boolean => item?.node.type === 'string'

/**
 * Where clients find us. What was switched off stays off, also when the socket to listen on in its place is no good:
 * a port is open to more people than a socket is.
 */
export function readListen(
  item: Item | undefined,
  values: SettingsValues['listen'],
  around: Around,
): ListenConfig {
  if (item !== undefined && isShortForm(item)) {
    return { ...DEFAULTS.listen, http: false, socket: readSocket(item, around) }
  }
  const found = item === undefined ? new Map<string, Item>() : members(item)
  const socketItem = values?.socket === undefined ? undefined : found.get('socket')
  const port = readPort(values)
  if (socketItem !== undefined) return { ...port, socket: readSocket(socketItem, around) }
  const httpItem = found.get('http')
  if (!port.http && httpItem !== undefined) {
    around.report.warning(httpItem, {
      message: 'this leaves nothing to listen on',
      mend: 'Name a "socket" to listen on, or remove this.',
    })
  }
  return { ...port, socket: DEFAULTS.listen.socket }
}

const readPort = (given: SettingsValues['listen'] = {}): Omit<ListenConfig, 'socket'> => ({
  http: given.http ?? DEFAULTS.listen.http,
  host: given.host ?? DEFAULTS.listen.host,
  port: given.port ?? DEFAULTS.listen.port,
  allowedHosts: given.allowedHosts ?? DEFAULTS.listen.allowedHosts,
  allowedOrigins: given.allowedOrigins ?? DEFAULTS.listen.allowedOrigins,
  sse: given.sse ?? DEFAULTS.listen.sse,
  ws: given.ws ?? DEFAULTS.listen.ws,
})

const readSocket = (item: Item, around: Around): string | undefined => {
  const { report } = around
  const errors = report.errors
  const text = expandedWhole(String(item.node.value), item, around)
  if (report.errors > errors) return undefined
  const path = socketPathOf(text) ?? (isAbsolute(text) || isNamedPipe(text) ? text : undefined)
  if (path === undefined) {
    report.error(item, {
      message: 'this is not the address of a socket',
      mend: 'Write "unix:///" and its absolute path, or "pipe:///" and the name of a pipe; until then there is no socket.',
    })
  }
  return path
}
