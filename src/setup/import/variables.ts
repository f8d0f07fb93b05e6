import { sep } from 'node:path'
import { isObject } from '../../kernel/object.js'
import type { VariableForm } from '../clients/formats.js'
import { literal, variableName } from './escapes.js'

/** A value that a client asks for (`inputs` of VS Code). */
export interface Input {
  /** Value to use without asking; undefined if there is none. */
  readonly fallback: string | undefined
  /** True if the client runs a command for the value. */
  readonly isCommand: boolean
}

/** Returns the declared inputs of a client's file by id. */
export const inputsIn = (root: unknown): ReadonlyMap<string, Input> => {
  const { inputs, mcp } = isObject(root) ? root : {}
  const list: unknown = inputs ?? (isObject(mcp) ? mcp['inputs'] : undefined)
  const found = new Map<string, Input>()
  for (const each of Array.isArray(list) ? (list as unknown[]) : []) {
    if (!isObject(each) || typeof each['id'] !== 'string') continue
    const { id, type, default: fallback, password } = each
    const isMissing = typeof fallback !== 'string' || (password === true && fallback === '')
    found.set(id, {
      fallback: isMissing ? undefined : fallback,
      isCommand: type === 'command',
    })
  }
  return found
}

/** A part of a client's text: literal text, or a variable in our syntax. */
type Piece = { readonly text: string } | { readonly variable: string }

/** Context of a text. */
export interface TextPlace {
  /** Syntax that the client replaces here; undefined if the client is unknown. */
  readonly forms: readonly VariableForm[] | undefined
  /** True for shell variables such as `$NAME` and `%NAME%`, whatever `forms` is. */
  readonly hasShellVariables?: boolean
  /** Returns whether our file would look up a variable in the entry first. */
  readonly isOwn?: (name: string) => boolean
  /** Returns whether the client passes on `${NAME}` and `$NAME` as text, for the program to expand. */
  readonly isPassedOn?: (name: string) => boolean
  readonly inputs: ReadonlyMap<string, Input>
}

/** Receives variables that need more than a translation. */
export interface TextEvents {
  /** The client asks for this value, and our file needs the variable. */
  readonly asked: (variable: string) => void
  /** The default of an input was used. */
  readonly defaulted: (id: string) => void
  /** The client would run something for the value. */
  readonly runs: (syntax: string) => void
}

/** Forms in files of unknown clients. `$${` is our own escape there. */
const USUAL: readonly VariableForm[] = ['name', 'default', 'env', 'input', 'editor', 'file', 'secrets', 'run']

const has = ({ forms = USUAL }: TextPlace, form: VariableForm): boolean => forms.includes(form)

/** Our own escape, which only files of unknown clients may have. */
const ESCAPE = String.raw`(?<escape>\$\$\{(?:\w*\})?)`
const SECRET = String.raw`\$\{\{\s*secrets\.(?<secret>\w+)\s*\}\}`
const BRACED = String.raw`\$\{(?<inner>(?:(?!\$\{)[^}])*)\}`
const IN_BRACES = String.raw`\{(?<brace>(?:env|file):[^}]*)\}`
const POWERSHELL = String.raw`\$env:(?<env>\w+)`
const DOLLARS = String.raw`\$(?<dollar>[A-Za-z_]\w*)|\$\((?<run>[^)]*)\)`
const PERCENT = String.raw`%(?<percent>[A-Za-z_]\w*)%`

/** Returns the pattern of the places that a client may replace. */
const placesIn = (place: TextPlace): RegExp => {
  const { forms, hasShellVariables = false } = place
  const parts = [
    ...(forms === undefined ? [ESCAPE] : []),
    ...(has(place, 'secrets') ? [SECRET] : []),
    BRACED,
    ...(has(place, 'braces') ? [IN_BRACES] : []),
    ...(forms === undefined ? [POWERSHELL] : []),
    ...(has(place, 'dollar') || hasShellVariables ? [DOLLARS] : []),
    ...(hasShellVariables ? [PERCENT] : []),
  ]
  return new RegExp(parts.join('|'), 'g')
}

const NAMED = /^(?<env>env:)?(?<name>[A-Za-z_]\w*)(?<fallback>:-(?:(?!\$\{)[\s\S])*)?$/
/** A default with a variable in it, which our file does not have. */
const NESTED = /(?<!\$)\$\{\w+:-[^}]*\$\{/
const FOLDERS = /^(?:workspaceFolder|workspaceFolderBasename|userHome|cwd)$/

/** Precedes a variable after a literal `$`, which would escape it. */
const DOLLAR = '${MCP_PROXY_DOLLAR_SIGN:-$}'

/** Writes pieces in the syntax of our file. */
const written = (pieces: readonly Piece[]): string => {
  let text = ''
  let open = ''
  for (const piece of pieces) {
    if ('text' in piece) {
      open += piece.text
      continue
    }
    text += literal(open).replace(/\$+$/, signs => DOLLAR.repeat(signs.length)) + piece.variable
    open = ''
  }
  return text + literal(open)
}

/** Translates a client's text to our syntax: our file then yields the text that the client would pass on. */
export const translated = (text: string, place: TextPlace, events: TextEvents): string => {
  const pieces: Piece[] = []
  let from = 0
  if (has(place, 'default') && NESTED.test(text)) events.runs('${…:-${')
  for (const match of text.matchAll(placesIn(place))) {
    const [all] = match
    pieces.push({ text: text.slice(from, match.index) })
    pieces.push(translatedPiece(all, match.groups ?? {}, place, events))
    from = match.index + all.length
  }
  return written([...pieces, { text: text.slice(from) }])
}

type Groups = Readonly<Record<string, string | undefined>>

const translatedPiece = (all: string, groups: Groups, place: TextPlace, events: TextEvents): Piece => {
  const { escape, inner, brace, run, secret, env, dollar, percent } = groups
  if (escape !== undefined) return { text: escape.slice(1) }
  if (inner !== undefined) return braced(all, inner, place, events)
  if (brace !== undefined) return inBraces(brace, place, events)
  if (run !== undefined && has(place, 'run')) events.runs('$(')
  if (dollar !== undefined) return shellVariable(all, dollar, place)
  const name = secret ?? env ?? percent
  return name === undefined ? { text: all } : reference(name, '', place)
}

/** Reads `$NAME`. Clients keep an unset variable, which is most likely other text. */
const shellVariable = (all: string, name: string, place: TextPlace): Piece =>
  /^[A-Z_][A-Z\d_]*$/.test(name) ? bare(all, name, place) : reference(name, `:-${all}`, place)

/** Reads `${…}`. */
const braced = (all: string, inner: string, place: TextPlace, events: TextEvents): Piece => {
  const [, kind] = /^(input|cmd|command|config|file):/.exec(inner) ?? []
  if (kind !== undefined) return ofKind(all, { kind, id: inner.slice(kind.length + 1) }, place, events)
  if (/^(?:pathSeparator|\/)$/.test(inner)) return { text: has(place, 'editor') ? sep : all }
  if (FOLDERS.test(inner)) return has(place, 'editor') ? { variable: all } : { text: all }
  return named(all, inner, place)
}

interface Kind {
  readonly kind: string
  readonly id: string
}

/** Reads `${kind:id}`. */
const ofKind = (all: string, { kind, id }: Kind, place: TextPlace, events: TextEvents): Piece => {
  if (kind === 'input' && has(place, 'input')) return asked(id, place, events)
  if (kind === 'file' && has(place, 'file')) return { variable: all }
  if (kind !== 'input' && kind !== 'file' && has(place, 'run')) events.runs(`\${${kind}:`)
  return { text: all }
}

/** Reads `${NAME}`, `${NAME:-text}` and `${env:NAME}`. */
const named = (all: string, inner: string, place: TextPlace): Piece => {
  const { env, name, fallback = '' } = NAMED.exec(inner)?.groups ?? {}
  if (name === undefined || !has(place, env === undefined ? 'name' : 'env')) return { text: all }
  if (env !== undefined) return reference(name, fallback, place)
  // In a file of an unknown client, the entry's own variable is the best value.
  if (place.forms === undefined) return { variable: all }
  if (fallback === '') return bare(all, name, place)
  return has(place, 'default') ? reference(name, fallback, place) : { text: all }
}

/** Reads a variable without a default, which some clients pass on if it is not set. */
const bare = (all: string, name: string, place: TextPlace): Piece =>
  place.isPassedOn?.(name) === true ? { text: all } : reference(name, '', place)

const inBraces = (brace: string, place: TextPlace, events: TextEvents): Piece => {
  if (brace.startsWith('env:')) return reference(brace.slice('env:'.length), ':-', place)
  const path = brace.slice('file:'.length)
  // A relative path starts at the client's file.
  if (!/^[~/]|^[a-z]:[/\\]/i.test(path)) events.runs(`{file:${path}}`)
  return { variable: `\${file:${path}}` }
}

/** Writes a variable of the client's environment. */
const reference = (name: string, fallback: string, { isOwn }: TextPlace): Piece => ({
  variable: `\${${isOwn?.(name) === true ? 'env:' : ''}${name}${fallback}}`,
})

const asked = (id: string, place: TextPlace, events: TextEvents): Piece => {
  const { fallback, isCommand = false } = place.inputs.get(id) ?? {}
  const name = variableName(id)
  if (fallback !== undefined) {
    events.defaulted(id)
    return { text: fallback }
  }
  if (isCommand) events.runs(`\${input:${id}}`)
  else events.asked(name)
  return isCommand ? { text: `\${input:${id}}` } : reference(name, '', place)
}
