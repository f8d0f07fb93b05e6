import { createHash } from 'node:crypto'

/**
 * Identifies an issuer in paths of ours: 32 hex digits of its SHA-256. Redirect URIs and client ids that
 * differ
 * per issuer prevent mix-ups (RFC 9700 §4.4.2).
 */
export const issuerId = (issuer: string): string =>
  createHash('sha256').update(issuer).digest('hex').slice(0, 32)
