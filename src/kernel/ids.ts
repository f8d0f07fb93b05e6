import { randomBytes } from 'node:crypto'

/**
 * An id that nobody can guess: 128 random bits as 22 characters of base64url (visible ASCII, RFC 4648 §5).
 */
export const unguessableId = (): string => randomBytes(16).toString('base64url')
