import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Fault } from '../../kernel/faults.js'

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/** Returns the key of `MCP_PROXY_STORE_KEY`, if set. Throws a Fault unless it is 32 bytes in base64. */
export const storeKey = (env: NodeJS.ProcessEnv): Buffer | undefined => {
  const text = env['MCP_PROXY_STORE_KEY']
  if (text === undefined || text === '') return undefined
  const key = Buffer.from(text, 'base64')
  if (key.length === KEY_BYTES) return key
  throw new Fault('invalid-params', 'MCP_PROXY_STORE_KEY is not 32 bytes in base64 (openssl rand -base64 32)')
}

/** Encrypts a text (AES-256-GCM), bound to `place`. */
export const sealText = (text: string, key: Buffer, place: string): string => {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(place))
  const body = [cipher.update(text, 'utf8'), cipher.final()]
  return Buffer.concat([iv, cipher.getAuthTag(), ...body]).toString('base64')
}

/** Decrypts a text; undefined if the key or place differs. */
export const openText = (sealed: string, key: Buffer, place: string): string | undefined => {
  const bytes = Buffer.from(sealed, 'base64')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(place))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    const body = [decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]
    return Buffer.concat(body).toString()
  } catch {
    return undefined
  }
}
