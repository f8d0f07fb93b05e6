import { createHash } from 'node:crypto'

/**
 * Returns an id of an issuer for paths: 32 hex digits of its SHA-256. Redirect URIs and client ids that
 * differ per issuer prevent mix-up attacks (RFC 9700 §4.4.2).
 */
export const issuerId = (issuer: string): string =>
  createHash('sha256').update(issuer).digest('hex').slice(0, 32)
