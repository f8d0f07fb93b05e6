import { cutText, plainLine, plainText } from './plain-text.js'

export const MASK = '***'

/** Words in a name that always mark a secret. */
const SECRET_WORDS =
  'token|secret|passw|passphrase|credential|bearer|cookie|signature|auth(?!or(?!i[sz]))|(?:api|access|private|account)[_-]?key'
/** Words that mark a secret only at the end of a name. */
const SECRET_ENDS = 'key|pass|passwd|pwd|pw|pat|pin|dsn|jwt|otp|sig'

/** Secret words at any position, including the end of a longer word. */
const WORD =
  /^(?:secrets?|passw\w*|passphrase|credentials?|bearer|cookies?|signature|auth|authorization|apikey|accesskey|privatekey)$|(?:token|secret|password|apikey|accesskey|passphrase)$/
const LAST = new RegExp(`^(?:${SECRET_ENDS}|keys?)$`)
/** Words before "key" in names that continue after it. */
const BEFORE_KEY = /^(?:api|access|private|account|secret)$/
/** Last words of settings whose values are checked by their shape instead. */
const SETTING =
  /^(?:urls?|uri|host|hostname|path|file|dir|folder|mode|type|method|enabled|port|endpoint|provider)$/

const wordsIn = (name: string): readonly string[] =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter(word => word !== '')

/** Returns true if a variable, header, flag or member of this name holds a secret, judged by whole words. */
export const isSecretName = (name: string): boolean => {
  const words = wordsIn(name.slice(-NAME_CHARS))
  const last = words.at(-1) ?? ''
  if (SETTING.test(last)) return false
  return (
    LAST.test(last) ||
    words.some((word, at) => WORD.test(word) || (word === 'key' && BEFORE_KEY.test(words[at - 1] ?? '')))
  )
}

const NAME_CHARS = 128

/** Returns true if the value of this name is a count. */
export const isCount = (name: string): boolean =>
  wordsIn(name).some(word => /^(?:max|min|limit|count|size|length|ttl|timeout|budget|number)$/.test(word))

const PATH = /^(?:~|\.{1,2})?[/\\][^=]*$|^[a-z]:[/\\][^=]*$/i
/** Some hosts put a key into the path of an address. */
export const isLikeKey = (segment: string): boolean => segment.length >= 20 && /\d/.test(segment)

/** Returns true for a path without segments that look like keys. */
export const isPath = (text: string): boolean => PATH.test(text) && !text.split(/[/\\]/).some(isLikeKey)

/** Returns true for a plain word, paths or a number, which are unlikely secrets. */
export const isPlain = (text: string): boolean =>
  /^(?:[a-z]{0,14}|[A-Z]{0,14}|[A-Z][a-z]{0,14}|[-+]?[\d.,:]*%?)$/.test(text) ||
  [':', ';'].some(delimiter => text.split(delimiter).every(isPath))

/** Masks the user, password, query and key-like path segments of an address. */
export function maskAddress(url: string): string {
  const parts = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(url)
  if (parts === null) return MASK
  const [, scheme = '', authority = '', path = '', query, fragment = ''] = parts
  const host = authority.includes('@')
    ? `${MASK}@${authority.slice(authority.lastIndexOf('@') + 1)}`
    : authority
  const isFile = /^(?:file|unix|pipe):/i.test(scheme)
  const withoutKeys = (text: string): string =>
    text.replace(/[^#/]+/g, part => (isLikeKey(part) ? MASK : part))
  const isShown = (part: string): boolean =>
    part.length < 2 || part.slice(1).split('&').every(isReferencePair)
  const hidden = (part = ''): string => (isShown(part) ? part : `${part[0]}${MASK}`)
  const end = /^#\/[^?&=]*$/.test(fragment) ? withoutKeys(fragment) : hidden(fragment)
  return `${scheme}${host}${isFile ? path : withoutKeys(path)}${hidden(query)}${end}`
}

/** A variable reference in the configuration, not a secret itself. */
const REFERENCE = '\\$\\{(?:env:|file:|input:)?[\\w./~-]+(?::-[^}]*)?\\}'
const REFERENCE_PAIR = new RegExp(`^[\\w.-]+=${REFERENCE}$`)
const isReferencePair = (text: string): boolean => REFERENCE_PAIR.test(text)

const LETTERS = '[A-Za-z0-9]'

/** Prefixes of issued keys, each with the minimum number of characters that follow. */
const KEYS = [
  // Tokens of this proxy (personal-token.ts).
  'mcp[pt]_[\\w-]{20,}',
  '(?:sk|pk|rk)[-_][\\w-]{16,}',
  'gl[a-z]{2,6}-[\\w-]{16,}',
  'xox[a-z](?:\\.xox[a-z])?-[\\w-]{10,}',
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}',
  'AIza[\\w-]{30,}',
  'ya29\\.[\\w-]{20,}',
  '1//0[\\w-]{20,}',
  'SG\\.[\\w-]{16,}\\.[\\w-]{16,}',
  'hv[sbr]\\.[\\w-]{20,}',
  'dapi[a-f0-9]{32}',
  'dp\\.[a-z]{2,5}\\.[\\w.]{20,}',
  'EAA[A-Za-z0-9]{30,}',
  'AT[AC]TT[\\w=-]{20,}',
  'AGE-SECRET-KEY-1[A-Z0-9]{20,}',
  'pat[A-Za-z0-9]{14}\\.[a-f0-9]{32,}',
  'PMAK-[a-f0-9-]{20,}',
  '\\d{8,10}:AA[\\w-]{30,}',
  '[MNO][\\w-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,}',
  '[a-f0-9]{32}-us\\d{1,2}',
  // JSON Web Tokens (RFC 7519 §3.1), including encrypted ones.
  'eyJ[\\w-]{8,}(?:\\.[\\w-]*){1,4}',
  // A prefix and more characters than any word has, including digits.
  `[A-Za-z]{2,12}\\d?[-_](?:${LETTERS}{1,16}[-_]){0,3}(?=[A-Za-z]*\\d)(?=\\d*[A-Za-z])${LETTERS}{20,}`,
]
const KEY = new RegExp(`(?<![\\w-])(?:${KEYS.join('|')})[\\w.~+/=-]*`, 'g')

/** RFC 7468 and OpenPGP; without an end marker, the key extends to the end of the text. */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,60}-----|$)/g

const ADDRESS = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>\\]+/gi

const SCHEMES = '(?:(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate)\\s{1,3})'
const VALUE = '[^\\s"\'`,;&<>()\\\\[\\]{}]+'
const SIGN = '\\\\?["\']?\\s{0,3}[=:]\\s{0,3}\\\\?["\'`]?'
const NAME = `(?:${SECRET_WORDS})[\\w.-]{0,30}`

/**
 * The name of a secret, a separator and the value, as in `"apiKey": "x"`, `--token x`, `DB_PASS=x`. The
 * dashes of a flag are matched after its name: a lookbehind at every character takes ten times as long.
 */
const NAMED = new RegExp(
  `(${NAME}(?:${SIGN}|\\s(?<=--[\\w.-]{0,80}\\s))|(?:(?<=[-_])|\\b(?=\\w+=))(?:${SECRET_ENDS})${SIGN})` +
    `(?!${SCHEMES}?${REFERENCE})(${SCHEMES}?)(?!${NAME}${SIGN})(${VALUE})`,
  'gi',
)
const NAMED_COOKIES = /\b((?:set-)?cookie\s{0,3}:\s{0,3})[^\r\n"]+/gi
const GREETED = new RegExp(`\\b(${SCHEMES})(?!${REFERENCE})(${VALUE})`, 'g')

/** Returns true if the text before a value ends in the name of a secret. */
const isNamed = (text: string): boolean => isSecretName(/[\w.-]+(?=[^\w.-]*$)/.exec(text)?.[0] ?? text)

/** Values that mean "no secret". */
const NO_SECRET = /^(?:true|false|null|undefined|none|\*+)$/i

/** Replaces the values of names that mark secrets. */
export const replaceNamed = (text: string, replace: (name: string, value: string) => string): string =>
  text.replace(NAMED, (all: string, ...parts: [string, string, string, number]) => {
    const [name, scheme, value, at] = parts
    // `token: expected` and `--token to` are prose; `token=expected` and `"token": "expected"` are not.
    const isProse = scheme === '' && /[\w-](?::\s*|\s)$/.test(name) && isPlain(value)
    const isOther = isProse || !isNamed(name) || isInReference(text, at)
    return NO_SECRET.test(value) || isOther ? all : name + scheme + replace(name, value)
  })

/** Returns true if the position is inside a variable name, as in `${TOKEN:-x}`. */
const isInReference = (text: string, at: number): boolean =>
  /\$\{(?:env:)?\w*$/.test(text.slice(Math.max(0, at - NAME_CHARS), at))

/** Masks keys, values with secret names, and passwords and queries in addresses. */
export const maskShapes = (text: string): string => {
  const bare = text
    .replace(PRIVATE_KEY, MASK)
    .replace(ADDRESS, maskAddress)
    .replace(NAMED_COOKIES, `$1${MASK}`)
  return replaceNamed(bare, () => MASK)
    .replace(GREETED, (all, scheme: string, value: string) => (isPlain(value) ? all : scheme + MASK))
    .replace(KEY, MASK)
}

/** Replaces private keys and text that looks like an issued key. */
export const replaceKeys = (text: string, replace: (key: string) => string): string =>
  text.replace(PRIVATE_KEY, replace).replace(KEY, replace)

/** Shorter secrets are masked only as whole words. */
const ANYWHERE = 6
/** Shorter secrets are indistinguishable from ordinary words. */
const LEAST = 4
/** Longer secrets are searched in pieces, so that a truncated one is still found. */
const PIECE = 512

// One list for the whole process: all output is masked with it.
const lists = new Set<readonly string[]>()
let found: RegExp | undefined
let isStale = false

/** Masks these secrets in all output until the returned function is called. */
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
 * Masks the added secrets and text that looks like one. A truncated text loses its end, where a secret may
 * begin.
 */
export const mask = (text: string, isWhole = true): string => {
  if (!isWhole) return mask(text).slice(0, -PIECE)
  return text.length < LEAST ? text : maskShapes(maskSecrets(text))
}

/** Masks the added secrets, but no text that only looks like one. */
export const maskSecrets = (text: string): string => {
  if (isStale) found = patternOf([...lists].flat())
  isStale = false
  return found === undefined ? text : text.replace(found, MASK)
}

/**
 * Returns the first characters of a long name, without a partial secret at its end. A short name is returned
 * unchanged; mask it where it is shown.
 */
export const shortName = (name: string, maxChars: number): string => {
  const read = name.slice(0, maxChars + PIECE)
  return name.length > maxChars ? mask(read, read.length === name.length).slice(0, maxChars) : name
}

const SAID_BYTES = 1024

/** Returns peer text as one line of at most `maxBytes`, without secrets and control characters. */
export const sanitizeLine = (message: string, maxBytes = SAID_BYTES): string =>
  held(message, maxBytes, plainLine)

/** Like `sanitizeLine`, but keeps line breaks and tabs. */
export const sanitizeText = (text: string, maxBytes: number): string => held(text, maxBytes, plainText)

const held = (text: string, maxBytes: number, plain: (text: string) => string): string => {
  const read = text.slice(0, maxBytes + PIECE)
  const isWhole = read.length === text.length
  return cutText(mask(plain(read), isWhole), maxBytes, isWhole)
}

const SCALAR = /"|[-\w.+]+/g
const SIGN_ONLY = /^\s*:\s*$/

/**
 * Masks secrets in strings and numbers, and the values of members with secret names. Takes linear time, also
 * for invalid JSON.
 */
export const maskJson = (json: string): string => {
  let masked = ''
  let [name, from] = ['', 0]
  SCALAR.lastIndex = 0
  for (let found = SCALAR.exec(json); found !== null; found = SCALAR.exec(json)) {
    const { index } = found
    const end = found[0] === '"' ? endOfString(json, index) : index + found[0].length
    const [between, scalar] = [json.slice(from, index), json.slice(index, end)]
    const isSecret = SIGN_ONLY.test(between) && scalar !== 'null' && isSecretName(textOf(name))
    masked += between + (isSecret ? QUOTED : maskScalar(scalar))
    SCALAR.lastIndex = end
    name = scalar
    from = end
  }
  return masked + json.slice(from)
}

/** Returns the end of the string that begins at `start`, or the end of the text if it is not closed. */
const endOfString = (json: string, start: number): number => {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let slashes = 0
    while (json[at - 1 - slashes] === '\\') slashes += 1
    if (slashes % 2 === 0) return at + 1
  }
  return json.length
}

const QUOTED = JSON.stringify(MASK)

const maskScalar = (scalar: string): string => {
  const text = textOf(scalar)
  const masked = mask(text)
  return masked === text ? scalar : JSON.stringify(masked)
}

const textOf = (scalar: string): string => {
  if (!scalar.startsWith('"')) return scalar
  try {
    return String(JSON.parse(scalar))
  } catch {
    return scalar
  }
}

/** Maximum number of lines in a private key. */
const KEY_LINES = 200

/** Finds the lines of private keys, which do not look like secrets one by one. */
export class KeyLines {
  #left = 0

  get isInside(): boolean {
    return this.#left > 0
  }

  /** Returns true if the next line is part of a private key that began on an earlier line. */
  take(line: Buffer): boolean {
    const { isInside } = this
    if (isInside) this.#left -= 1
    if (line.includes(' PRIVATE KEY')) {
      const text = line.toString('latin1')
      if (/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(text)) this.#left = KEY_LINES
      if (/-----END [A-Z0-9 ]{0,40}PRIVATE KEY/.test(text)) this.#left = 0
    }
    return isInside
  }
}

/** Returns the parts of a secret to mask separately (lines, words between separators), in all their forms. */
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
  // Longer secrets come first, because one secret may begin with another.
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
