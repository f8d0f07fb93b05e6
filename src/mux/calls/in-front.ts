import type { ClientHandler } from '../../model/links.js'

/** A handler that does some things itself, and leaves all others to the one behind it. */
export const inFrontOf = (behind: ClientHandler, own: Partial<ClientHandler>): ClientHandler => ({
  welcome: client => behind.welcome(client),
  call: call => behind.call(call),
  answering: call => behind.answering?.(call),
  lackingScopes: (viewer, calls) => behind.lackingScopes(viewer, calls),
  ownIdentity: client => behind.ownIdentity(client),
  tool: (client, exposed) => behind.tool(client, exposed),
  notified: (client, method, params) => behind.notified(client, method, params),
  callerChanged: client => behind.callerChanged(client),
  idle: client => behind.idle(client),
  left: client => behind.left(client),
  ...own,
})
