import { isPlain, isSecretName, MASK, maskShapes } from './key-shapes.js'
import { cutText, plainLine, plainText } from './plain-text.js'

/** Shorter ones are found only where they stand alone: within words they would be found everywhere. */
const ANYWHERE = 6
/** Still shorter ones cannot be told from ordinary words. */
const LEAST = 4
/** Longer ones are looked for piece by piece, so that one whose end is cut off is still found. */
const PIECE = 512

// There is one list for the whole process: whatever leaves it must hold none of them, whoever says it.
const lists = new Set<readonly string[]>()
let found: RegExp | undefined
let isStale = false

/** Has these texts masked wherever words leave the process, until what is returned is called. */
export const addSecrets = (secrets: readonly string[]): (() => void) => {
  const list = secrets.flatMap(partsOf)
  lists.add(list)
  isStale = true
  return () => {
    lists.delete(list)
    isStale = true
  }
}

/**
 * A text without what must not be read by anybody: the secrets that were added, and whatever looks like one. Of a text that is not
 * whole the end is left out, which may be the beginning of one.
 */
export const mask = (text: string, isWhole = true): string => {
  if (!isWhole) return mask(text).slice(0, -PIECE)
  if (text.length < LEAST) return text
  if (isStale) found = patternOf([...lists].flat())
  isStale = false
  return maskShapes(found === undefined ? text : text.replace(found, MASK))
}

/** What a peer may say at most where we speak of it. */
const SAID_BYTES = 1024

/** Words of a peer as they may stand in ours: one line without secrets, escapes or control characters, cut at `maxBytes`. */
export const said = (words: string, maxBytes = SAID_BYTES): string => held(words, maxBytes, plainLine)

/** The same with its line breaks and tabs. */
export const saidText = (text: string, maxBytes: number): string => held(text, maxBytes, plainText)

const held = (text: string, maxBytes: number, plain: (text: string) => string): string => {
  const read = text.slice(0, maxBytes + PIECE)
  const isWhole = read.length === text.length
  return cutText(mask(plain(read), isWhole), maxBytes, isWhole)
}

const STRING = '"(?:[^"\\\\]|\\\\.)*"'
const JSON_PARTS = new RegExp(`(${STRING})(\\s*:\\s*)(${STRING}|[-\\w.+]+)|${STRING}|[-\\w.+]+`, 'g')

/** JSON text without secrets in its strings and numbers, and without the values of members that are called like one. */
export const maskJson = (json: string): string =>
  json.replace(JSON_PARTS, (all, name?: string, sign?: string, value?: string) => {
    if (name === undefined || sign === undefined || value === undefined) return maskScalar(all)
    const isSecret = isSecretName(String(JSON.parse(name))) && value !== 'null'
    return `${maskScalar(name)}${sign}${isSecret ? QUOTED : maskScalar(value)}`
  })

const QUOTED = JSON.stringify(MASK)

const maskScalar = (scalar: string): string => {
  const text = scalar.startsWith('"') ? String(JSON.parse(scalar)) : scalar
  const masked = mask(text)
  return masked === text ? scalar : JSON.stringify(masked)
}

/** A private key of so many lines is longer than any. */
const KEY_LINES = 200

/** Finds the lines of private keys, which say nothing of themselves. */
export class KeyLines {
  #left = 0

  /** Whether the next line will stand in a private key, unless it ends one. */
  get isInside(): boolean {
    return this.#left > 0
  }

  /** Whether this line, the next one, stands in a private key that began on an earlier one, or ends it. */
  take(line: Buffer): boolean {
    const { isInside } = this
    if (isInside) this.#left -= 1
    if (line.includes(' PRIVATE KEY')) {
      const text = line.toString('latin1')
      if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY/.test(text)) this.#left = KEY_LINES
      if (/-----END [A-Z0-9 ]*PRIVATE KEY/.test(text)) this.#left = 0
    }
    return isInside
  }
}

/** The forms in which a secret may appear, and its parts: lines, and what stands between quotes, commas and the like. */
const partsOf = (secret: string): string[] => {
  const lines = secret.split(/[\r\n]+/).map(line => line.trim())
  const parts = secret.split(/[\s"'`,;:=|&?<>()[\]{}\\]+/).filter(part => part.length > ANYWHERE)
  const secrets = [...lines, ...parts].filter(
    part => !isPlain(part) && !isHost(part) && !part.startsWith('-----'),
  )
  return [secret, secret.trim(), ...secrets].flatMap(piecesOf).flatMap(formsOf)
}

const isHost = (text: string): boolean => /^[a-z\d-]+(?:\.[a-z\d-]+)+$/.test(text)

const piecesOf = (text: string): string[] =>
  text.length <= PIECE ? [text] : (text.match(new RegExp(`[^]{1,${PIECE}}`, 'g')) ?? [])

const formsOf = (text: string): string[] => {
  if (text.length < LEAST) return []
  return [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(Buffer.from(text).toString())]
}

const patternOf = (secrets: readonly string[]): RegExp | undefined => {
  // Of two that begin alike the longer one counts.
  const all = [...new Set(secrets)].sort((one, other) => other.length - one.length)
  const escaped = all.map(text => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
  const [long, short] = [
    escaped.filter((_, at) => isLong(all[at])),
    escaped.filter((_, at) => !isLong(all[at])),
  ]
  const alone = short.map(text => `(?<![A-Za-z0-9])${text}(?![A-Za-z0-9])`)
  return all.length === 0 ? undefined : new RegExp([...long, ...alone].join('|'), 'g')
}

const isLong = (text = ''): boolean => text.length >= ANYWHERE
