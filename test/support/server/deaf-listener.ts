import type { ConnectionListener } from '../../../src/peers/connection.js'

/** A listener that ignores all events. */
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
