import type { ConnectionListener } from '../../../src/peers/connection.js'

/** Hears what connections tell, and does nothing about it. */
export const deafListener: ConnectionListener = {
  ready: () => undefined,
  lost: () => undefined,
  joined: () => undefined,
  parted: () => undefined,
  ended: () => undefined,
  serverRequested: () => undefined,
  serverNotified: () => undefined,
  isKept: () => false,
}
