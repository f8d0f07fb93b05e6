import { hash, randomBytes } from 'node:crypto'

const PREFIX = 'mcpp_'

/** A new token that stands for a person: 32 random bytes behind a prefix that shows what it is. */
export const createPersonalToken = (): string => PREFIX + randomBytes(32).toString('base64url')

/** Whether a text can only be a personal token: nobody else is asked about it. */
export const isPersonalToken = (token: string): boolean => token.startsWith(PREFIX)

const ISSUED = 'mcpt_'

/** A random text as a token of the embedded authorization server: its prefix keeps it from other issuers. */
export const issuedToken = (random: string): string => ISSUED + random

/** Whether a text can only be a token of the embedded authorization server, of this proxy or another one. */
export const isIssuedToken = (token: string): boolean => token.startsWith(ISSUED)

/** The SHA-256 of a token or secret, in lower-case hexadecimal: all that is kept of it. */
export const tokenHash = (token: string): string => hash('sha256', token)
