import type { Call, ClientHandler } from '../model/links.js'

/** A reception that handles calls in a way of its own, and everything else as the one behind it does. */
export const withCall = (behind: ClientHandler, call: (call: Call) => void): ClientHandler => ({
  call,
  welcome: client => behind.welcome(client),
  ownIdentity: client => behind.ownIdentity(client),
  toolSchema: (client, exposed) => behind.toolSchema(client, exposed),
  notified: (client, method, params) => behind.notified(client, method, params),
  rests: client => behind.rests(client),
  left: client => behind.left(client),
})

/** Has `then` told when a call is over, after whoever was to be told before. */
export const watch = (call: Call, then: NonNullable<Call['onOver']>): void => {
  const { onOver } = call
  call.onOver =
    onOver === undefined
      ? then
      : outcome => {
          onOver(outcome)
          then(outcome)
        }
}
