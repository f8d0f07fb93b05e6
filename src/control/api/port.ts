import type { IncomingMessage, ServerResponse } from 'node:http'
import { cookieIn } from '../../auth/authorization-server/sign-in/cookies.js'
import { type Caller, LOCAL } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { ownCommand } from '../../kernel/machine/own-command.js'
import { isObject } from '../../kernel/object.js'
import type { Api } from './api.js'
import { apiRequest, FAULT_STATUSES, requestBodyOf, sendAnswer, sendJson } from './http.js'
import type { PageLogins } from './page-logins.js'
import { type PageSessions, pageCookie, setCookie } from './page-sessions.js'
import type { ApiAnswer } from './streams.js'

/** Decides which requests may use the port. */
export interface PortEntry {
  /** Returns true for a program of this machine on loopback. */
  readonly isFromHere: (request: IncomingMessage) => boolean
  /** Returns the caller if the request has a token for the control API. Undefined without `auth`. */
  readonly hasToken: ((request: IncomingMessage) => Promise<Caller | undefined>) | undefined
  /** Returns the caller with its current permissions. Returns undefined once its token is no longer valid. */
  readonly renew?: ((caller: Caller) => Caller | undefined) | undefined
}

export interface PortContext extends PortEntry {
  readonly api: () => Promise<Api>
  readonly sessions: () => PageSessions
  /** Watches logins with a code. Absent if they are neither logged nor limited. */
  readonly logins?: PageLogins | undefined
  /** The public address, if it differs from the listening address. */
  readonly publicUrl: string | undefined
  /** The path below which the port serves everything; empty for the root. */
  readonly basePath: string
}

export const API_BASE = '/api/v1'

/**
 * Answers the control API on the port. Every user of the machine can reach a loopback port, and pages of any
 * origin can send requests to it. Each request therefore needs a token or both halves of a page credential,
 * the header `x-mcp-proxy`, and our own origin if it sends one. Requests other than GET must send one.
 */
export const answerPort = async (
  request: IncomingMessage,
  response: ServerResponse,
  context: PortContext,
): Promise<void> => {
  // The HTTP listener allows the origins of local pages; the control API does not.
  response.removeHeader('access-control-allow-origin')
  response.removeHeader('access-control-expose-headers')
  try {
    const own = new URL(ownAddress(request, context))
    const refusal = refusalOf(request, own.origin, context)
    if (refusal !== undefined) {
      sendJson(response, refusal.status, { error: refusal.error })
      return
    }
    const body = request.method === 'POST' ? await requestBodyOf(request) : ''
    const asked = apiRequest(request, response, API_BASE, body)
    if (asked.method === 'POST' && asked.path === '/login') {
      login({ request, response, body }, context, own)
      return
    }
    const isOpen = context.sessions().isOpen(credentialIn(request, own))
    const caller = isOpen ? LOCAL : await context.hasToken?.(request)
    if (!caller) {
      sendJson(response, 401, { error: 'open the page with: mcp-proxy ui' })
      return
    }
    const answer = await (await context.api()).answer({ ...asked, caller })
    if (answer === undefined) sendJson(response, 404, { error: `not found: ${asked.method} ${asked.path}` })
    else sendTo(response, answer, caller, context)
  } catch (thrown) {
    const fault = Fault.from(thrown)
    sendJson(response, FAULT_STATUSES[fault.code] ?? 400, { error: fault.message })
  }
}

/** Returns the page credential in a request, which may be incomplete. */
const credentialIn = ({ headers }: IncomingMessage, origin: URL) => ({
  cookie: cookieIn(headers.cookie, pageCookie(origin)),
  secret: headers['x-mcp-proxy-secret']?.toString(),
})

const RENEW_MS = 2000

/** Sends an answer. Closes a stream once its token is no longer valid. */
const sendTo = (response: ServerResponse, answer: ApiAnswer, caller: Caller, { renew }: PortEntry): void => {
  sendAnswer(response, answer)
  if ('value' in answer || caller === LOCAL) return
  const timer = setInterval(() => {
    if (renew?.(caller) === undefined) response.destroy()
  }, RENEW_MS)
  response.once('close', () => clearInterval(timer))
}

const ownAddress = (
  { headers: { host = '' } }: IncomingMessage,
  { publicUrl, basePath }: PortContext,
): string => {
  const written = `${publicUrl?.split(':', 1)[0]}://${host}`
  const isPublic =
    publicUrl !== undefined && URL.canParse(written) && new URL(written).origin === new URL(publicUrl).origin
  return isPublic ? publicUrl : `http://${host}${basePath}`
}

interface Refusal {
  readonly status: number
  readonly error: string
}

/** Returns the refusal of a request that must not use the port, regardless of its credentials. */
export const refusalFor = (
  request: IncomingMessage,
  { isFromHere, hasToken }: PortEntry,
): Refusal | undefined =>
  isFromHere(request) || hasToken !== undefined
    ? undefined
    : {
        status: 403,
        error: 'only local programs, or clients with a token under "auth", may use this',
      }

const refusalOf = (request: IncomingMessage, own: string, entry: PortEntry): Refusal | undefined => {
  const { origin, 'x-mcp-proxy': marked } = request.headers
  const elsewhere = refusalFor(request, entry)
  if (elsewhere !== undefined) return elsewhere
  if (origin === undefined ? request.method !== 'GET' : origin !== own)
    return { status: 403, error: 'cross-origin request: only the page of this proxy may use this' }
  return marked === '1' ? undefined : { status: 403, error: 'the header x-mcp-proxy: 1 is missing' }
}

interface LoginExchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body: string
}

const login = (
  { request, response, body }: LoginExchange,
  { sessions, logins }: PortContext,
  origin: URL,
): void => {
  const given = parsed(body)
  const code = isObject(given) ? given['code'] : undefined
  const redeemed = typeof code === 'string' ? sessions().redeem(code) : undefined
  if (redeemed !== undefined) {
    logins?.succeeded(request)
    const { cookie, secret } = redeemed
    sendJson(
      response,
      200,
      { version: 1, secret, command: ownCommand() },
      { 'set-cookie': setCookie(cookie, origin) },
    )
    return
  }
  const retryAfter = logins?.failed(request)
  if (retryAfter === undefined)
    sendJson(response, 401, {
      error: 'the code is wrong, used, or older than a minute: run mcp-proxy ui again',
    })
  else sendJson(response, 429, { error: 'too many wrong codes' }, { 'retry-after': String(retryAfter) })
}

const parsed = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
