import { allowInsecureRequests, customFetch, deviceAuthorizationRequest } from 'oauth4webapi'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { objectIn } from '../../kernel/object.js'
import { type LoginRequest, resourceOf } from './login-flow.js'
import {
  type AuthorizationContext,
  authenticationOf,
  cutErrorText,
  requestTokens,
  type TokenAnswer,
  tokenErrorText,
} from './tokens.js'

/** A login on another device. */
export interface DeviceLogin {
  /** Code for the user to enter there. */
  readonly userCode: string
  readonly url: string
  /** Resolves with the tokens after the login; respects the polling interval. */
  poll(): Promise<TokenAnswer>
}

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const INTERVAL_S = 5
const INTERVAL_MAX_S = 60
const LIFE_S = 600

/** Starts a login on another device (RFC 8628). Rejects with a Fault. */
export const beginDeviceLogin = async (
  context: AuthorizationContext & { readonly clock: Clock },
  request: Omit<LoginRequest, 'redirectUri'>,
): Promise<DeviceLogin> => {
  const { client, scopes } = request
  const { server } = request.discovery
  if (server.device_authorization_endpoint === undefined) {
    throw refused(`${cutErrorText(server.issuer)} does not support logins on another device`)
  }
  const resource = resourceOf(request)
  const parameters = {
    ...(scopes !== undefined && { scope: scopes.join(' ') }),
    ...(resource !== undefined && { resource }),
  }
  const options = { [customFetch]: context.fetch, [allowInsecureRequests]: true }
  const authentication = authenticationOf(client, server)
  const response = await deviceAuthorizationRequest(
    server,
    { client_id: client.id },
    authentication,
    parameters,
    options,
  )
  const body = objectIn(await response.text()) ?? {}
  const { device_code: code, user_code: userCode, verification_uri: url } = body
  if (typeof code !== 'string' || typeof userCode !== 'string' || typeof url !== 'string' || !isFit(url)) {
    throw refused(`its authorization server did not start the login: ${tokenErrorText(body)}`)
  }
  const seconds = {
    interval: secondsIn(body['interval'], INTERVAL_S),
    life: secondsIn(body['expires_in'], LIFE_S),
  }
  return { userCode: cutErrorText(userCode), url, poll: () => poll(context, request, { code, ...seconds }) }
}

const isFit = (address: string): boolean => {
  const url = URL.canParse(address) ? new URL(address) : undefined
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
}

const secondsIn = (value: unknown, fallback: number): number =>
  typeof value === 'number' && value > 0 && value <= LIFE_S * 6 ? value : fallback

const poll = async (
  context: AuthorizationContext & { readonly clock: Clock },
  request: Omit<LoginRequest, 'redirectUri'>,
  { code, interval, life }: { readonly code: string; readonly interval: number; readonly life: number },
): Promise<TokenAnswer> => {
  const { clock } = context
  const endMs = clock.nowMs() + life * 1000
  let waitS = Math.min(interval, INTERVAL_MAX_S)
  for (;;) {
    await new Promise<void>(resolve => {
      clock.after(waitS * 1000, resolve)
    })
    if (clock.nowMs() > endMs) return { is: 'failed', why: 'the login was not completed in time' }
    const answer = await requestTokens(context, {
      server: request.discovery.server,
      client: request.client,
      grant: GRANT,
      parameters: { device_code: code, resource: resourceOf(request) },
      asked: request.scopes,
      dpopKey: request.dpopKey,
    })
    if (answer.is === 'tokens') return answer
    if (answer.is === 'refused' && !WAITING.has(answer.error)) return answer
    // Failures may be temporary, but also slow the polling down.
    if (answer.is === 'failed' || answer.error === 'slow_down')
      waitS = Math.min(waitS + INTERVAL_S, INTERVAL_MAX_S)
  }
}

const WAITING: ReadonlySet<string> = new Set(['authorization_pending', 'slow_down'])

const refused = (message: string): Fault =>
  new Fault('unauthorized', message, { data: { reason: 'needs-auth' } })
