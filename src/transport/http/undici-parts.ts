// The whole of undici takes three times as long to load: it includes fetch, WebSockets, caches and mocks.
import type * as undici from 'undici'
// @ts-expect-error: internal files have no types.
import buildConnectorOfUndici from 'undici/lib/core/connect.js'
// @ts-expect-error: the same.
import errorsOfUndici from 'undici/lib/core/errors.js'
// @ts-expect-error: the same.
import AgentOfUndici from 'undici/lib/dispatcher/agent.js'
// @ts-expect-error: the same.
import cookiesOfUndici from 'undici/lib/web/cookies/parse.js'

export const Agent = AgentOfUndici as typeof undici.Agent
export const errors = errorsOfUndici as typeof undici.errors
export const buildConnector = buildConnectorOfUndici as typeof undici.buildConnector

/** Parses the value of `Set-Cookie`; null if it is invalid, or longer than 4 KiB. */
export const { parseSetCookie } = cookiesOfUndici as {
  parseSetCookie: (header: string) => undici.Cookie | null
}
