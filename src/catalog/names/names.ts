import { createHash } from 'node:crypto'

const PLAIN_ALIAS = /^[A-Za-z][A-Za-z0-9_-]{0,23}$/
const SURROGATE = /\p{Cs}/u
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** Maximum length of an exposed name. Clients add a prefix of their own and cut at 64. */
const NAME_CHARS = 46
const NAME_HEAD_CHARS = 39
const ALIAS_HEAD_CHARS = 17

/** UTF-8 turns lone surrogates into U+FFFD, so such texts are hashed as UTF-16 after a byte order mark. */
const hashInput = (text: string): Buffer =>
  SURROGATE.test(text) ? Buffer.from(`\ufeff${text}`, 'utf16le') : Buffer.from(text, 'utf8')

/** Returns the first 30 bits of a SHA-256 as 6 lower-case base32 characters (RFC 4648 §6). */
const tag = (text: string): string => {
  const bits = createHash('sha256').update(hashInput(text)).digest().readUInt32BE(0)
  return [27, 22, 17, 12, 7, 2].map(shift => BASE32.charAt((bits >>> shift) & 31)).join('')
}

const isPlainAlias = (text: string): boolean =>
  PLAIN_ALIAS.test(text) && !text.includes('__') && !text.endsWith('_')

/** Returns a server's alias: its prefix or key. An invalid one is cleaned and gets a hash of the original. */
export const aliasOf = (key: string, prefix: string | undefined): string => {
  const wanted = prefix ?? key
  if (isPlainAlias(wanted)) return wanted
  const clean = wanted.replace(/[^A-Za-z0-9_-]/gu, '-').replace(/_+/g, '_')
  const named = /^[A-Za-z]/.test(clean) ? clean : `s-${clean}`
  return `${trimEnd(named.slice(0, ALIAS_HEAD_CHARS))}-${tag(wanted)}`
}

const trimEnd = (text: string): string => text.replace(/[_-]+$/, '')

/**
 * Returns the exposed name `<alias>__<name>`: at most 46 of `[A-Za-z0-9_-]`, pure and stable, never parsed
 * back.
 */
export const exposedName = (alias: string, name: string): string => {
  const raw = `${alias}__${name}`
  const clean = raw.replace(/[^A-Za-z0-9_-]/gu, '_')
  if (clean === raw && raw.length <= NAME_CHARS) return raw
  return `${clean.slice(0, NAME_HEAD_CHARS)}_${tag(`${alias}\0${name}`)}`
}
