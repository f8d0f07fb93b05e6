import type { ClientHandler } from '../../model/links.js'

/** Returns a handler that overrides some methods and delegates the others to `behind`. */
export const intercept = (behind: ClientHandler, own: Partial<ClientHandler>): ClientHandler => ({
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
