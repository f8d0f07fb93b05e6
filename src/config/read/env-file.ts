import { resolve } from 'node:path'
import dotenv from 'dotenv'
import { readSmallFile } from '../file/small-file.js'
import { bareRecord, type TreeItem } from '../file/tree.js'
import type { Environment } from '../types.js'
import type { ReadContext } from './entry.js'
import { expandedPath, reportUnread, withKnownVariables } from './variables.js'

/** Next to the configuration. */
export const DEFAULT_ENV_FILE = 'secrets.env'

const QUOTED = `(?:'[^']*'|"(?:[^"\\\\]|\\\\[\\s\\S])*"|\\\\')+`
const LINE = new RegExp(
  `^[ \\t]*(?:export[ \\t]+)?([A-Za-z_][A-Za-z0-9_]*)=[ \\t]*(?:(${QUOTED})[ \\t]*(?:#.*)?$|(.*)$)`,
  'gm',
)
const QUOTED_PART = /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\(')/g

/**
 * Returns the variables in lines of the form `NAME=value`, as a shell would quote them; quoted ones may span
 * lines. Ignores other lines. The object lacks a prototype.
 */
export const parseEnvFile = (text: string): Readonly<Record<string, string>> =>
  bareRecord(
    Array.from(text.matchAll(LINE), ([, name = '', quoted, bare = '']): [string, string] => [
      name,
      quoted === undefined ? bare.replace(/(?:^|\s)#.*$/, '').trim() : unquoted(quoted),
    ]),
  )

const unquoted = (text: string): string =>
  text.replace(
    QUOTED_PART,
    (_all, single?: string, double?: string, quote?: string) =>
      single ??
      quote ??
      (double ?? '').replace(/\\([\s\S])/g, (_pair, sign: string) => (sign === 'n' ? '\n' : sign)),
  )

/** Writes a line that `parseEnvFile` and a shell read as this variable. */
export const envFileLine = (name: string, value: string): string =>
  `${name}='${value.replaceAll("'", `'\\''`)}'\n`

/** The variables in `envFile`; in `secrets.env` if none is named. */
export const readEnvFile = (item: TreeItem | undefined, context: ReadContext): Environment => {
  const { folder, report } = context
  if (item !== undefined && (item.node.type !== 'string' || item.node.value === '')) return {}
  const { errors } = report
  const path = resolve(folder, item === undefined ? DEFAULT_ENV_FILE : expandedPath(item, context))
  if (report.errors > errors) return {}
  context.files.add(path)
  const read = readSmallFile(path)
  if ('text' in read) return parseEnvFile(read.text)
  if (item !== undefined || !read.isMissing) {
    const place = item ?? { node: { type: 'null', offset: 0, length: 0 }, key: 'envFile', nameOffset: 0 }
    report.warning(place, {
      message: `the file of variables ${path} ${read.wrong}`,
      fix: 'Create it with lines NAME=\'value\', or name another one with "envFile".',
    })
  }
  return {}
}

/** The variables in the `envFile` of a server. */
export interface ServerEnvFile {
  /** Absolute. */
  readonly path: string
  /** Their values, with known variables expanded. Without prototype. Secret. */
  readonly values: Readonly<Record<string, string>>
}

/** Returns the variables in a file in the format of dotenv, unexpanded. */
export const parseServerEnvFile: (text: string) => Readonly<Record<string, string>> = dotenv.parse

/**
 * Reads the `envFile` of a server in the format of dotenv. `${NAME}` in a value is a variable of an earlier
 * line or of the proxy; other text stays. Reports a file that cannot be read as an error.
 */
export const readServerEnvFile = (item: TreeItem, context: ReadContext): ServerEnvFile | undefined => {
  const { folder, report, files, lacks = [] } = context
  const troubles = (): number => report.errors + lacks.length
  const before = troubles()
  const path = resolve(folder, expandedPath(item, context))
  if (troubles() > before) return undefined
  files.add(path)
  const read = readSmallFile(path)
  if ('wrong' in read) {
    reportUnread(item, { path, why: read.wrong }, context)
    return undefined
  }
  const known: Record<string, string | undefined> = { ...context.env }
  const values = Object.entries(parseServerEnvFile(read.text)).map(([name, text]): [string, string] => {
    const value = withKnownVariables(text, known)
    known[name] = value
    return [name, value]
  })
  if (read.text.includes('\0'))
    report.error(item, { message: `the file ${path} contains a NUL character`, fix: 'Save it as text.' })
  return { path, values: bareRecord(values) }
}
