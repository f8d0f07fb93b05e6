import { createHash } from 'node:crypto'
import type { ListName } from '../../model/listing.js'

/**
 * The item after which a page starts: its name, and its index in case it is gone. The same for its server.
 */
export interface Position {
  readonly list: ListName
  readonly alias: string
  readonly aliasIndex: number
  readonly key: string
  readonly index: number
}

const VERSION = 1
const CHECK_BYTES = 6
/** Maximum cursor length; `encodeCursor` stays far below it, see `cursorKey`. */
const CURSOR_CHARS = 4096
const KEY_CHARS = 256
const BASE64URL = /^[A-Za-z0-9_-]+$/

const hash = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest()

/** A checksum against typing errors and truncation, not against forgery: a cursor holds no secret. */
const checkOf = (payload: Buffer): Buffer => hash(payload).subarray(0, CHECK_BYTES)

/** Returns a name or URI as cursors hold it: unchanged, or hashed if long. Compare positions by this. */
export const cursorKey = (key: string): string =>
  key.length <= KEY_CHARS ? key : `sha256:${hash(Buffer.from(key, 'utf16le')).toString('base64url')}`

/** Encodes a position as `nextCursor`: base64url of a checksum and a small JSON array. */
export const encodeCursor = (at: Position): string => {
  const facts = [VERSION, at.list, at.alias, at.aliasIndex, cursorKey(at.key), at.index]
  const payload = Buffer.from(JSON.stringify(facts), 'utf8')
  return Buffer.concat([checkOf(payload), payload]).toString('base64url')
}

/** Decodes a client's cursor; undefined if it is not a valid cursor for this list. */
export const decodeCursor = (text: string, list: ListName): Position | undefined => {
  if (text.length > CURSOR_CHARS || !BASE64URL.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text) return undefined
  const payload = bytes.subarray(CHECK_BYTES)
  if (!bytes.subarray(0, CHECK_BYTES).equals(checkOf(payload))) return undefined
  return positionIn(payload, list)
}

/** Checks every member, since any client can compute the checksum. */
const positionIn = (payload: Buffer, list: ListName): Position | undefined => {
  const facts = parse(payload)
  if (!Array.isArray(facts) || facts.length !== 6) return undefined
  const [version, named, alias, aliasIndex, key, index] = facts as readonly unknown[]
  if (version !== VERSION || named !== list) return undefined
  if (typeof alias !== 'string' || typeof key !== 'string') return undefined
  return isIndex(aliasIndex) && isIndex(index) ? { list, alias, aliasIndex, key, index } : undefined
}

const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const parse = (payload: Buffer): unknown => {
  try {
    return JSON.parse(payload.toString('utf8'))
  } catch {
    return undefined
  }
}
