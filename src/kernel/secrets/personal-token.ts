import { hash, randomBytes } from 'node:crypto'

const PREFIX = 'mcpp_'

/** Creates a token that identifies a user: 32 random bytes after a recognizable prefix. */
export const createPersonalToken = (): string => PREFIX + randomBytes(32).toString('base64url')

/** Returns true if a token can only be a personal token. */
export const isPersonalToken = (token: string): boolean => token.startsWith(PREFIX)

const ISSUED = 'mcpt_'

/**
 * Returns a token of the embedded authorization server; the prefix distinguishes it from tokens of other
 * issuers.
 */
export const issuedToken = (random: string): string => ISSUED + random

/**
 * Returns true if a token can only be from an embedded authorization server, of this proxy or another one.
 */
export const isIssuedToken = (token: string): boolean => token.startsWith(ISSUED)

/** Returns the SHA-256 of a token or secret in lower-case hexadecimal, the only form that is stored. */
export const tokenHash = (token: string): string => hash('sha256', token)
