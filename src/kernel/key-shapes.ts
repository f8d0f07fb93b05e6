/** What stands where a secret stood. */
export const MASK = '***'

/** Words in a name that say that what it names is secret, whatever it looks like. */
const SECRET_WORDS =
  'token|secret|passw|passphrase|credential|bearer|cookie|signature|auth(?!or(?!i[sz]))|(?:api|access|private|account)[_-]?key'
/** The same for words that mean something else where more follows. */
const SECRET_ENDS = 'key|pass|passwd|pwd|pw|pat|pin|dsn|jwt|otp|sig'

const SECRET_NAME = new RegExp(`${SECRET_WORDS}|(?:^|[^a-z])(?:${SECRET_ENDS})$`, 'i')

/** Whether a variable, header, flag or member of this name holds a secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME.test(name)

/** Where a path begins that says where it does. */
const PATH = /^(?:~|\.{1,2})?[/\\][^=]*$|^[a-z]:[/\\][^=]*$/i
/** Some hosts put a key into the path of an address. */
export const isLikeKey = (segment: string): boolean => segment.length >= 20 && /\d/.test(segment)

const isPath = (text: string): boolean => PATH.test(text) && !text.split(/[/\\]/).some(isLikeKey)

/** Whether a text is a plain word, a path or several, or a number: nothing that somebody would choose for a secret. */
export const isPlain = (text: string): boolean =>
  /^(?:[a-z]{0,14}|[A-Z]{0,14}|[A-Z][a-z]{0,14}|[-+]?[\d.,:]*%?)$/.test(text) ||
  [':', ';'].some(delimiter => text.split(delimiter).every(isPath))

/**
 * An address for the eyes of a person: without user and password, without the values of its query, and without
 * the long segments of its path in which some hosts put a key.
 */
export function maskAddress(url: string): string {
  const parts = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(url)
  if (parts === null) return MASK
  const [, scheme = '', authority = '', path = '', query, fragment] = parts
  const host = authority.includes('@')
    ? `${MASK}@${authority.slice(authority.lastIndexOf('@') + 1)}`
    : authority
  const isFile = scheme.toLowerCase() === 'file://'
  const segments = path.split('/').map(part => (isLikeKey(part) && !isFile ? MASK : part))
  return `${scheme}${host}${segments.join('/')}${query === undefined ? '' : `?${MASK}`}${fragment === undefined ? '' : `#${MASK}`}`
}

const LETTERS = '[A-Za-z0-9]'

/** What issuers of keys begin them with, and how many signs follow at least; most, but not all, are caught by the last line. */
const KEYS = [
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
  // JSON Web Tokens (RFC 7519 §3.1), also encrypted ones.
  'eyJ[\\w-]{8,}(?:\\.[\\w-]*){1,4}',
  // A prefix, and more signs than any word has, digits among them.
  `[A-Za-z]{2,12}\\d?[-_](?:${LETTERS}{1,16}[-_]){0,3}(?=[A-Za-z]*\\d)(?=\\d*[A-Za-z])${LETTERS}{20,}`,
]
const KEY = new RegExp(`(?<![\\w-])(?:${KEYS.join('|')})[\\w.~+/=-]*`, 'g')

/** RFC 7468 and OpenPGP; one whose end is missing reaches to the end of the text. */
const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[\s\S]*?(?:-----END [A-Z0-9 ]*-----|$)/g

const ADDRESS = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'`<>\\]+/gi

const SCHEMES = '(?:(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate)\\s{1,3})'
const VALUE = '[^\\s"\'`,;&<>()\\\\[\\]{}]+'
const SIGN = '\\\\?["\']?\\s{0,3}[=:]\\s{0,3}\\\\?["\'`]?'
const NAME = `(?:${SECRET_WORDS})[\\w.-]{0,30}`

/**
 * A name of a secret, a sign that its value follows, and the value, as in `"apiKey": "x"`, `--token x`, `DB_PASS=x`. The dashes of a flag
 * are looked for behind its name: looking back from every character of a long line would take ten times as long.
 */
const NAMED = new RegExp(
  `(${NAME}(?:${SIGN}|\\s(?<=--[\\w.-]{0,80}\\s))|(?:(?<=[-_])|\\b(?=\\w+=))(?:${SECRET_ENDS})${SIGN})` +
    `(${SCHEMES}?)(?!${NAME}${SIGN})(${VALUE})`,
  'gi',
)
const NAMED_COOKIES = /\b((?:set-)?cookie\s{0,3}:\s{0,3})[^\r\n"]+/gi
const GREETED = new RegExp(`\\b(${SCHEMES})(${VALUE})`, 'g')

/** Numbers that count something, and values that say that there is none. */
const NO_SECRET = /^(?:\d{1,5}|true|false|null|undefined|none|\*+)$/i

const masked = (all: string, name: string, scheme: string, value: string): string => {
  // In a sentence, `token: expected` and `--token to` say nothing; `token=expected` and `"token": "expected"` do.
  const isProse = scheme === '' && /[\w-](?::\s*|\s)$/.test(name) && isPlain(value)
  return NO_SECRET.test(value) || isProse ? all : name + scheme + MASK
}

/** A text without what looks like a key or is called like one, and without passwords and queries in addresses. */
export const maskShapes = (text: string): string =>
  text
    .replace(PRIVATE_KEY, MASK)
    .replace(ADDRESS, maskAddress)
    .replace(NAMED_COOKIES, `$1${MASK}`)
    .replace(NAMED, masked)
    .replace(GREETED, (all, scheme: string, value: string) => (isPlain(value) ? all : scheme + MASK))
    .replace(KEY, MASK)
