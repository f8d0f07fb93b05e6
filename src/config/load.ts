import { readFile, stat } from 'node:fs/promises'
import { packageFile } from '../kernel/package-file.js'
import { MAX_FILE_BYTES } from './defaults.js'
import type { Words } from './file/problem.js'
import { type ConfigSource, resolveConfig } from './resolve.js'
import { createQuickChecker, type JsonSchema, type QuickChecker } from './schema/quick-check.js'
import type { Environment, Loaded } from './types.js'

/** Reads and resolves a configuration file; a file that cannot be read is a problem like any other. */
export async function loadConfig(file: string, env: Environment): Promise<Loaded> {
  const read = await readConfigText(file)
  return 'text' in read ? await readConfig({ text: read.text, file, env }) : read.unusable
}

/**
 * Resolves a configuration as `parseConfig` does, which is loaded only for a file that it has something to say about. Rejects if it
 * cannot be.
 */
export const readConfig = async (
  source: ConfigSource,
  loadParser = () => import('./parse.js'),
): Promise<Loaded> => {
  const checker = await quickChecker()
  if (checker !== undefined) {
    const loaded = resolveConfig(source, checker)
    if (checker.isSure) return loaded
  }
  const { parseConfig } = await loadParser()
  return parseConfig(source.text, source.file, source.env)
}

/** Undefined where there is no schema that can be used, and everything is left to the parser. */
const quickChecker = async (): Promise<QuickChecker | undefined> => {
  try {
    return createQuickChecker(await schema())
  } catch {
    return undefined
  }
}

const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** The schema that editors are given, read once: while this version runs, that of another may be put in its place. */
const schema = once(async () => JSON.parse(await readFile(SCHEMA_FILE, 'utf8')) as JsonSchema)

const SCHEMA_FILE = packageFile('config/mcp-proxy.schema.json')

/** The text of a configuration file, or why there is none. */
export type ConfigText = { readonly text: string } | { readonly unusable: Loaded }

/**
 * Reads a configuration file without looking at what it says. Never rejects. A pipe is read to its end, but not `again`: it would
 * be waited for without end.
 */
export async function readConfigText(file: string, isAgain = false): Promise<ConfigText> {
  try {
    const found = await stat(file)
    if (isAgain && !found.isFile() && !found.isDirectory()) return unusable(file, ONLY_ONCE)
    if (found.size > MAX_FILE_BYTES) return unusable(file, TOO_LARGE)
    const text = decode(await readFile(file))
    return text === undefined ? unusable(file, NOT_UTF8) : { text }
  } catch (thrown) {
    return unusable(file, wordsFor(thrown))
  }
}

const TOO_LARGE: Words = {
  message: `the file is longer than ${MAX_FILE_BYTES / 1024 / 1024} MiB`,
  mend: 'Check that this is the right file.',
}

const ONLY_ONCE: Words = {
  message: 'this is no file, and what it held can be read only once',
  mend: 'Restart the proxy, or give it a file.',
}

const NOT_UTF8: Words = { message: 'the file is not text in UTF-8', mend: 'Save it as UTF-8.' }

const WORDS: ReadonlyMap<unknown, Words> = new Map([
  ['ENOENT', { message: 'there is no such file', mend: 'Check the path, or create the file.' }],
  ['ENOTDIR', { message: 'part of the path is not a folder', mend: 'Check the path.' }],
  ['EISDIR', { message: 'this is a folder, not a file', mend: 'Give the path of the file in it.' }],
  [
    'EACCES',
    { message: 'the file may not be read', mend: 'Give the user of the proxy the right to read it.' },
  ],
  [
    'EPERM',
    { message: 'the file may not be read', mend: 'Give the user of the proxy the right to read it.' },
  ],
])

const wordsFor = (thrown: unknown): Words => {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  return (
    WORDS.get(code) ?? {
      message: `the file cannot be read (${typeof code === 'string' ? code : 'unknown error'})`,
      mend: 'Check the path and the disk.',
    }
  )
}

const decode = (bytes: Buffer): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const unusable = (file: string, words: Words): ConfigText => ({
  unusable: {
    config: undefined,
    problems: [{ severity: 'error', file, line: 0, column: 0, key: '', ...words }],
    disabled: [],
  },
})
