import { randomBytes } from 'node:crypto'

/** Makes an id that nobody can guess: 128 random bits as 22 characters of base64url. */
export const randomId = (): string => randomBytes(16).toString('base64url')
