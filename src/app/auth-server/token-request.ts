import { IncomingMessage } from 'node:http'
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

/**
 * The same request for a token, with the redirect URI of its code where it names none, as those of SDK 1.7.
 * Undefined if its body is too large.
 */
export const withRedirectUri = async (
  request: IncomingMessage,
  store: Store,
): Promise<IncomingMessage | undefined> => {
  if (request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') !== true)
    return request
  const form = await readForm(request)
  if (form === undefined) return undefined
  const code = store.shelf('AuthorizationCode').get(tokenHash(form.get('code') ?? ''))
  if (code?.redirectUri !== undefined && !form.has('redirect_uri')) form.set('redirect_uri', code.redirectUri)
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
