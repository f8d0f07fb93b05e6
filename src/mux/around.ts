import type { Call, Reception } from '../model/links.js'

/** A reception that handles calls in a way of its own, and everything else as the one behind it does. */
export const withCall = (behind: Reception, call: (call: Call) => void): Reception => ({
  call,
  welcome: client => behind.welcome(client),
  ownIdentity: client => behind.ownIdentity(client),
  toolSchema: (client, exposed) => behind.toolSchema(client, exposed),
  notice: (client, method, params) => behind.notice(client, method, params),
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
