import { createHash, randomUUID } from 'node:crypto'

/** A private key as a JSON Web Key (RFC 7517). Secret. */
export type PrivateJwk = Readonly<Record<string, unknown>>

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const

/** Creates a key for DPoP-bound tokens (RFC 9449). */
export const newDpopKey = async (): Promise<PrivateJwk> => {
  const { privateKey } = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  return { ...(await crypto.subtle.exportKey('jwk', privateKey)) }
}

const publicPart = ({ kty, crv, x, y }: PrivateJwk): PrivateJwk => ({ kty, crv, x, y })

/** Imports both keys of a pair. */
export const dpopKeys = async (key: PrivateJwk) => ({
  privateKey: await crypto.subtle.importKey('jwk', key, ALGORITHM, false, ['sign']),
  publicKey: await crypto.subtle.importKey('jwk', publicPart(key), ALGORITHM, true, ['verify']),
})

/** A request with a bound token. */
export interface ProvenRequest {
  readonly method: string
  readonly url: string
  readonly token: string
  /** Nonce requested by the server. */
  readonly nonce: string | undefined
}

/** Creates the proof of possession for one request (RFC 9449 §4.2, §7). */
export const dpopProof = async (
  key: PrivateJwk,
  { method, url, token, nonce }: ProvenRequest,
): Promise<string> => {
  const { privateKey } = await dpopKeys(key)
  const { origin, pathname } = new URL(url)
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: publicPart(key) }
  const claims = {
    jti: randomUUID(),
    htm: method,
    htu: `${origin}${pathname}`,
    iat: Math.floor(Date.now() / 1000),
    ath: createHash('sha256').update(token).digest('base64url'),
    nonce,
  }
  const text = [header, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = await crypto.subtle.sign(SIGNATURE, privateKey, Buffer.from(text))
  return `${text}.${Buffer.from(signature).toString('base64url')}`
}
