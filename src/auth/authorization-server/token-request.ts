import { IncomingMessage } from 'node:http'
import { objectIn } from '../../kernel/object.js'
import { tokenHash } from '../../kernel/secrets/personal-token.js'
import { readShortBody } from '../../transport/http/short-body.js'
import type { Store } from './store.js'

const MOST_BYTES = 56 * 1024

/** Reads a form; undefined if it exceeds the size limit. */
export const readForm = async (request: IncomingMessage): Promise<URLSearchParams | undefined> => {
  const body = await readShortBody(request, MOST_BYTES)
  return body && new URLSearchParams(body.toString())
}

/** A request of a client, with the claimed identity. */
export interface ClientRequest {
  /** The request to pass on, with a readable body. */
  readonly request: IncomingMessage
  /** The claimed client id. */
  readonly client: string | undefined
  /** Reports whether it may be a guess: it has a client secret, or an unknown refresh token. */
  readonly isGuess: boolean
}

/**
 * Reads a token or revocation request, and adds a missing redirect URI of its code, which SDK 1.7 omits.
 * Resolves with undefined if the body is too large.
 */
export const readClientRequest = async (
  request: IncomingMessage,
  store: Store,
): Promise<ClientRequest | undefined> => {
  if (request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') !== true)
    return { request, client: undefined, isGuess: false }
  const form = await readForm(request)
  if (form === undefined) return undefined
  const code = store.store('AuthorizationCode').get(tokenHash(form.get('code') ?? ''))
  if (code?.redirectUri !== undefined && !form.has('redirect_uri')) form.set('redirect_uri', code.redirectUri)
  const refresh = form.get('refresh_token')
  const isUnknown = refresh !== null && !(await store.knowsRefreshToken(refresh))
  const hasSecret = form.has('client_secret') || request.headers.authorization !== undefined
  const same = withBody(request, form)
  const client = clientIn(request, form)
  claims.set(same, client)
  return { request: same, client, isGuess: hasSecret || isUnknown }
}

/** Returns the claimed client of a request that `readClientRequest` has read. */
export const claimedClient = (request: IncomingMessage): string | undefined => claims.get(request)

const claims = new WeakMap<IncomingMessage, string | undefined>()

const withBody = (request: IncomingMessage, form: URLSearchParams): IncomingMessage => {
  const { method, url, headers, socket } = request
  const body = Buffer.from(form.toString())
  const same = Object.assign(new IncomingMessage(socket), {
    method,
    url,
    // Otherwise Node treats the end as a broken connection.
    complete: true,
    headers: { ...headers, 'content-length': String(body.length), 'transfer-encoding': undefined },
  })
  same.push(body)
  same.push(null)
  return same
}

/** Returns the client id in HTTP Basic, in the form, or in the assertion (RFC 6749 §2.3, RFC 7523 §3). */
const clientIn = (
  { headers: { authorization = '' } }: IncomingMessage,
  form: URLSearchParams,
): string | undefined => {
  const [, basic] = /^Basic +([\w+/=-]+) *$/i.exec(authorization) ?? []
  if (basic !== undefined) {
    const [name = ''] = Buffer.from(basic, 'base64').toString().split(':', 1)
    return new URLSearchParams(`name=${name}`).get('name') ?? undefined
  }
  const assertion = form.get('client_assertion')?.split('.')[1]
  const subject = assertion && objectIn(Buffer.from(assertion, 'base64url').toString())?.['sub']
  return form.get('client_id') ?? (typeof subject === 'string' ? subject : undefined)
}
