import { IncomingMessage } from 'node:http'
import { objectIn } from '../../kernel/object.js'
import { tokenHash } from '../../secrets/personal-token.js'
import type { Store } from './store.js'

const MOST_BYTES = 56 * 1024

/** The body of a form; undefined if it is larger than any that we take. */
export const readForm = async (request: IncomingMessage): Promise<URLSearchParams | undefined> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) return undefined
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString())
}

/** A request of a client, with what it says about itself. */
export interface ClientRequest {
  /** To be passed on: its body can be read again. */
  readonly request: IncomingMessage
  /** The client that it claims to come from. */
  readonly client: string | undefined
  /** Whether it may hold a guess: a secret of a client, or a refresh token that is not known. */
  readonly isGuess: boolean
}

/**
 * Reads a request for a token or its revocation, and adds the redirect URI of its code where it names none,
 * as
 * those of SDK 1.7. Undefined if its body is too large.
 */
export const readClientRequest = async (
  request: IncomingMessage,
  store: Store,
): Promise<ClientRequest | undefined> => {
  if (request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') !== true)
    return { request, client: undefined, isGuess: false }
  const form = await readForm(request)
  if (form === undefined) return undefined
  const code = store.shelf('AuthorizationCode').get(tokenHash(form.get('code') ?? ''))
  if (code?.redirectUri !== undefined && !form.has('redirect_uri')) form.set('redirect_uri', code.redirectUri)
  const refresh = form.get('refresh_token')
  const isUnknown = refresh !== null && !(await store.knowsRefreshToken(refresh))
  const hasSecret = form.has('client_secret') || request.headers.authorization !== undefined
  const same = withBody(request, form)
  const client = clientIn(request, form)
  claims.set(same, client)
  return { request: same, client, isGuess: hasSecret || isUnknown }
}

/** Who said that they sent a request, if it was read by `readClientRequest`. */
export const claimedClient = (request: IncomingMessage): string | undefined => claims.get(request)

const claims = new WeakMap<IncomingMessage, string | undefined>()

const withBody = (request: IncomingMessage, form: URLSearchParams): IncomingMessage => {
  const { method, url, headers, socket } = request
  const body = Buffer.from(form.toString())
  const same = Object.assign(new IncomingMessage(socket), {
    method,
    url,
    // Else its end would be taken for a broken connection.
    complete: true,
    headers: { ...headers, 'content-length': String(body.length), 'transfer-encoding': undefined },
  })
  same.push(body)
  same.push(null)
  return same
}

/** The name in HTTP Basic, in the form, or in the assertion (RFC 6749 §2.3, RFC 7523 §3). */
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
