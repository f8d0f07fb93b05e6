import { randomBytes } from 'node:crypto'

/** Creates an unguessable id: 128 random bits as 22 characters of base64url. */
export const randomId = (): string => randomBytes(16).toString('base64url')
