import type { Environment } from '../../config/types.js'
import { isObject } from '../../kernel/object.js'
import {
  isCount,
  isLikeKey,
  isPath,
  isPlain,
  isSecretName,
  replaceKeys,
  replaceNamed,
} from '../../kernel/secrets/mask.js'
import type { Json } from '../edit/change.js'
import { literal, variableName } from './escapes.js'
import type { ImportedEntry } from './normalise.js'

/** Takes a secret, named after its place, and returns its replacement. */
type Take = (name: string, value: string) => string

/** Keys in queries or after short flags are often named `k`. */
const isNamed = (name: string): boolean => isSecretName(name) || /^k$/i.test(name)

/** Recognises keys by their prefix, including keys too short for general masking. */
const KEY = /(?<![\w-])(?:gh[a-z]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA|eyJ)[\w.~+/=-]{4,}/g
const NO_SECRET = /^(?:true|false|null|none)?$/i
const isNumber = (text: string): boolean => /^[-+]?\d+(?:\.\d+)?$/.test(text)
/** Returns whether a value with a secret's name is an ordinary setting. */
const isSetting = (name: string, text: string): boolean =>
  NO_SECRET.test(text) || (isNumber(text) && isCount(name))

/** Returns whether a whole value looks generated, unlike words, names or versions. */
const isGenerated = (text: string): boolean =>
  /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) ||
  (/^[\w+/=-]{20,}$/.test(text) &&
    !text.startsWith('/') &&
    text.split(/[-_/]/).some(part => part.length >= 16 && /\d/.test(part) && /[a-z]/i.test(part)))
const ADDRESS = /^([a-z][a-z0-9+.-]*:\/\/)(?:([^/?#]*)@)?([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/is
const SCHEME = /^((?:Bearer|Basic|Digest|Token|ApiKey|Negotiate)\s+)?([\s\S]*)$/i
/** A member in a JSON string, up to the end of its value. */
const MEMBER = /("([\w-]+)"\s*:\s*")([^"\\]+)(?=")/g
/** Skips `$${`, an escaped `${`. */
const VARIABLE = /((?<!\$)\$\{[^}]*\})/

/** Escaped variables alone, which the program itself replaces. */
const PLACEHOLDERS = /^(?:\$\$\{\w+(?::-[^}]*)?\})+$/

/** Times, addresses, and numbers with a word, such as `python3`, `10s` and `2xlarge`, are settings. */
const IS_SETTING = /^\d{4}-\d\d-\d\d|:\/\/|\s|\$\{|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/

/** Returns whether a value may be a secret although neither its name nor its form shows it. */
const isDoubtful = (text: string): boolean =>
  text.length >= 8 && !isPlain(text) && !IS_SETTING.test(text) && isMixed(text.split(/[-_/.:,=@]/))

/** Returns whether letters and digits alternate as in license keys, unlike words or versions. */
const isMixed = (parts: readonly string[]): boolean =>
  parts.some(part => /\d[a-z]+\d|[a-z]\d+[a-z]/i.test(part) || hasAllKinds(part)) ||
  parts.filter(part => /^(?=\D*\d)(?=\d*[A-Z])[A-Z\d]{4,}$/.test(part)).length > 1

const hasAllKinds = (part: string): boolean =>
  part.length >= 8 && [/[a-z]/, /[A-Z]/, /\d/].every(kind => kind.test(part))

/** Decides whether a doubtful value is a secret. */
export type IsSecret = (name: string, value: string) => boolean

/**
 * Replaces each secret in a server's env, headers, arguments, program and address. Calls `isSecret` for
 * doubtful values of variables and short options; keeps them by default.
 */
export const replaceSecrets = (
  entry: ImportedEntry,
  put: Take,
  isSecret: IsSecret = () => false,
): ImportedEntry => {
  const taken = new Map<string, string>()
  const take: Take = (name, value) => {
    const plain = unescaped(value)
    const text = put(name, plain)
    if (/^\$\{\w+\}$/.test(text)) taken.set(text, plain)
    return text
  }
  /** Moves the whole value if only parts of it would change it, such as a key after a `$`. */
  const exact = (name: string, before: string, after: string): string => {
    if (after === before || taken.size === 0 || meant(after, taken) === meant(before, taken)) return after
    return VARIABLE.test(before) ? before : take(variableName(name), before)
  }
  const { env, headers, args, url, command } = entry
  const isTaken: IsSecret = (name, value) =>
    isGenerated(value) || (isDoubtful(value) && isSecret(name, value))
  const named = (values: Readonly<Record<string, Json>>, isKey: IsSecret): Json =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        const moved = inNamed(name, value, { take, isKey })
        return [name, typeof moved === 'string' ? exact(name, plainText(value), moved) : moved] as const
      }),
    )
  return {
    ...entry,
    ...(typeof command === 'string'
      ? { command: exact('SECRET', command, inText('SECRET', command, take)) }
      : {}),
    ...(Array.isArray(args)
      ? {
          args: inArgs(args.map(String), { take, isKey: isTaken }).map((arg, at) =>
            exact('SECRET', String(args[at]), arg),
          ),
        }
      : {}),
    ...(isObject(env) ? { env: named(env, isTaken) } : {}),
    ...(isObject(headers) ? { headers: named(headers, (_name, value) => isGenerated(value)) } : {}),
    ...(typeof url === 'string' ? { url: exact('KEY', url, inText('KEY', url, take)) } : {}),
  }
}

const plainText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''

const unescaped = (text: string): string => text.replaceAll('$${', '${')

/** Returns the text that our file yields, with these variables; others stay marked. */
const meant = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replace(/\$\$\{|\$\{[^}]*\}/g, all => (all === '$${' ? '${' : (values.get(all) ?? `\0${all}`)))

/** Returns whether an entry contains a literal secret. */
export const holdsSecrets = (entry: ImportedEntry): boolean => {
  let isFound = false
  replaceSecrets(entry, () => {
    isFound = true
    return ''
  })
  return isFound
}

/** Options for taking secrets out of named values. */
interface Taking {
  readonly take: Take
  /** Decides whether a doubtful whole value is a secret. */
  readonly isKey: IsSecret
}

/** Replaces secrets in the value of a variable or header. */
const inNamed = (name: string, value: Json, { take, isKey }: Taking): Json => {
  if (typeof value !== 'string' && typeof value !== 'number') return value
  const given = String(value)
  const known = inValue(name, given, take)
  const text = known === given && isKey(name, given) ? take(variableName(name), given) : known
  return text === given ? value : text
}

/** Replaces a value whose name may mark it as secret. */
const inValue = (name: string, text: string, take: Take): string => {
  if (!isNamed(name) || isSetting(name, text)) return inText(name, text, take)
  const [, scheme = '', value = ''] = SCHEME.exec(text) ?? []
  if (PLACEHOLDERS.test(value)) return text
  if (VARIABLE.test(value)) return scheme + aroundVariables(name, value, take)
  return value === '' ? text : scheme + take(variableName(name), value)
}

/** Replaces a secret next to a variable, such as `literal-${X}`. */
const aroundVariables = (name: string, text: string, take: Take): string => {
  const shown = inText(name, text, take)
  if (shown !== text || text.includes('://')) return shown
  return inLiterals(text, part => {
    // Names, as in `sid=${ID}` and `user:${PASSWORD}`, and paths are not secrets.
    const rest = part.replace(/[\w.-]+[=:]\s*$/, '')
    return !/[a-z\d]/i.test(rest) || isPath(part) ? part : take(variableName(name), part)
  })
}

/** Replaces secrets that are recognisable by their form. */
const inText = (name: string, text: string, take: Take): string =>
  inLiterals(text, part => inAddress(part, take) ?? inWords(name, part, take))

/** Replaces keys, and values with a secret's name, within a text. */
const inWords = (name: string, text: string, take: Take): string => {
  const keep = (key: string): string => take(variableName(name), key)
  return [
    (part: string) => inJson(part, take),
    (part: string) => replaceKeys(part, keep),
    (part: string) => replaceNamed(part, (name, value) => take(variableName(name), value)),
    (part: string) => part.replace(KEY, keep),
  ].reduce(inLiterals, text)
}

/** Applies a replacement outside variables. */
const inLiterals = (text: string, replace: (part: string) => string): string =>
  text
    .split(VARIABLE)
    .map((part, index) => (index % 2 === 1 ? part : replace(part)))
    .join('')

const inJson = (text: string, take: Take): string =>
  text.replace(MEMBER, (all, open: string, member: string, value: string) =>
    isNamed(member) ? open + inValue(member, value, take) : all,
  )

/** Returns undefined for an invalid address. */
const inAddress = (text: string, take: Take): string | undefined => {
  const parts = ADDRESS.exec(text)
  if (parts === null) return undefined
  const [, scheme = '', login, host = '', path = '', query, hash = ''] = parts
  const segments = path.split('/').map(part => (isLikeKey(part) ? take('KEY', part) : inKeys(part, take)))
  const own = login === undefined ? '' : `${inLogin(login, take)}@`
  return (
    scheme +
    own +
    host +
    segments.join('/') +
    (query === undefined ? '' : `?${inQuery(query, take)}`) +
    (hash === '' ? '' : `#${inQuery(hash.slice(1), take)}`)
  )
}

const inQuery = (query: string, take: Take): string =>
  query
    .split('&')
    .map(pair => {
      const [name = '', ...rest] = pair.split('=')
      const value = rest.join('=')
      if (value === '') return inKeys(pair, take)
      return `${name}=${isNamed(name) || isLikeKey(value) ? take(variableName(name), value) : inKeys(value, take)}`
    })
    .join('&')

const inKeys = (text: string, take: Take): string => text.replace(KEY, key => take('KEY', key))

const inLogin = (login: string, take: Take): string => {
  const [user = '', ...password] = login.split(':')
  if (password.length === 0) return take('TOKEN', user)
  return `${inKeys(user, take)}:${take('PASSWORD', password.join(':'))}`
}

const FLAG = /^--?([\w-]+)$/
const PAIR = /^(-{0,2}([\w-]+)(?:=|:(?!\/\/) *))([\s\S]*)$/

/** Treats values after `--token`, `--token=`, `TOKEN=` and `Authorization: ` as secrets. */
const inArgs = (args: readonly string[], { take, isKey }: Taking): readonly string[] =>
  args.map((arg, at) => {
    const flag = FLAG.exec(args[at - 1] ?? '')?.[1]
    if (flag === undefined || arg.startsWith('--')) return inPair(arg, take)
    if (isNamed(flag) && !/^(?:[/~.]|\w+:\/\/)/.test(arg)) return inValue(flag, arg, take)
    return flag.length === 1 && isKey(flag, arg) ? take(variableName(flag), arg) : inPair(arg, take)
  })

const inPair = (text: string, take: Take): string => {
  const [, open, name = '', value = ''] = PAIR.exec(text) ?? []
  if (open === undefined) return inText('SECRET', text, take)
  return open + (isNamed(name) ? inValue(name, value, take) : inPair(value, take))
}

/** Replaces variables in a text with their known values. */
export const withValues = (text: string, valueOf: (name: string) => string | undefined): string =>
  text.replace(/(?<!\$)\$\{(\w+)\}/g, (all, name: string) => {
    const value = valueOf(name)
    return value === undefined ? all : literal(value)
  })

/** Variables for secrets: the existing file's variables, and variables to add to it. */
export class SecretNames {
  readonly added = new Map<string, string>()
  readonly #known: Map<string, string>

  readonly #environment: Environment

  /** The variables of the file, and the environment, which precedes them. */
  constructor(known: Readonly<Record<string, string>>, environment: Environment = {}) {
    this.#known = new Map(Object.entries(known))
    this.#environment = environment
  }

  /** Returns a variable's value in the file. */
  valueOf(name: string): string | undefined {
    return this.#known.get(name)
  }

  /** Adds a variable with exactly this name. */
  keep(name: string, value: string): void {
    this.added.set(name, value)
    this.#known.set(name, value)
  }

  /**
   * Returns a variable with this value: `name`, or `name` prefixed with the server's name if `name` has
   * another value in the file, in the environment, or in the entry's own `env`.
   */
  put(server: string, name: string, value: string, { env }: ImportedEntry = {}): string {
    const entry = isObject(env) ? env : {}
    const isFree = (each: string): boolean =>
      [this.#known.get(each), this.#environment[each]].every(there => [undefined, value].includes(there)) &&
      (!Object.hasOwn(entry, each) || unescaped(plainText(entry[each])) === value)
    const isVague = ['KEY', 'TOKEN', 'PASSWORD', 'SECRET'].includes(name)
    const own = `${variableName(server)}_${name}`
    const names = [...(isVague ? [] : [name]), own]
    for (let count = 2; ; count += 1) {
      const free = names.find(isFree)
      if (free !== undefined) {
        if (!this.#known.has(free)) this.added.set(free, value)
        this.#known.set(free, value)
        return free
      }
      names.push(`${own}_${count}`)
    }
  }

  /** Replaces the file's variables in a text with their values. */
  resolve(text: string): string {
    return withValues(text, name => this.#known.get(name))
  }
}

/** Returns an entry for display, without values of variables and headers, and without secrets. */
export const redacted = (entry: ImportedEntry): ImportedEntry => {
  const shown = replaceSecrets(entry, () => MASK)
  const masked = (values: Json | undefined): Json =>
    Object.fromEntries(
      Object.entries((values ?? {}) as ImportedEntry).map(
        ([name, value]) => [name, isReference(value) ? value : MASK] as const,
      ),
    )
  return {
    ...shown,
    ...('env' in shown ? { env: masked(shown['env']) } : {}),
    ...('headers' in shown ? { headers: masked(shown['headers']) } : {}),
  }
}

const MASK = '***'
const REFERENCE = /^(?:\w+ )?\$\{(?:(?:env:)?\w+(?::-([^}]*))?|(?:file|input):[^}]*)\}$/
/** A variable's default may be a secret. */
const isReference = (value: Json): boolean => {
  const found = typeof value === 'string' ? REFERENCE.exec(value) : null
  return found !== null && isPlain(found[1] ?? '')
}
