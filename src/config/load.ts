import { readFile, stat } from 'node:fs/promises'
import { systemCode } from '../kernel/faults.js'
import { MAX_FILE_BYTES } from './defaults.js'
import type { ProblemText } from './file/problem.js'
import { parseConfig } from './parse.js'
import type { Environment, Loaded } from './types.js'

/** Reads and resolves a configuration file; a file that cannot be read is a problem like any other. */
export async function loadConfig(file: string, env: Environment, parse = parseConfig): Promise<Loaded> {
  const read = await readConfigText(file)
  return 'text' in read ? parse(read.text, file, env) : read.unusable
}

export type ConfigText =
  | { readonly text: string }
  | { readonly unusable: Loaded; readonly isMissing: boolean }

/** Reads the text of a file. Never rejects. `isAgain` refuses pipes, which can be read only once. */
export async function readConfigText(file: string, isAgain = false): Promise<ConfigText> {
  try {
    const found = await stat(file)
    if (isAgain && !found.isFile() && !found.isDirectory()) return unusable(file, ONLY_ONCE)
    if (found.size > MAX_FILE_BYTES) return unusable(file, TOO_LARGE)
    const text = decode(await readFile(file))
    return text === undefined ? unusable(file, NOT_UTF8) : { text }
  } catch (thrown) {
    return unusable(file, messageFor(thrown), systemCode(thrown) === 'ENOENT')
  }
}

const TOO_LARGE: ProblemText = {
  message: `the file is longer than ${MAX_FILE_BYTES / 1024 / 1024} MiB`,
  fix: 'Check that this is the right file.',
}

const ONLY_ONCE: ProblemText = {
  message: 'this is a pipe, which can be read only once',
  fix: 'Restart the proxy, or give it a file.',
}

const NOT_UTF8: ProblemText = { message: 'the file is not text in UTF-8', fix: 'Save it as UTF-8.' }

const MAY_NOT_READ: ProblemText = {
  message: 'the file may not be read',
  fix: 'Give the user of the proxy the right to read it.',
}

const WORDS: ReadonlyMap<string | undefined, ProblemText> = new Map([
  ['ENOENT', { message: 'there is no such file', fix: 'Check the path, or create the file.' }],
  ['ENOTDIR', { message: 'part of the path is not a folder', fix: 'Check the path.' }],
  ['EISDIR', { message: 'this is a folder, not a file', fix: 'Give the path of the file in it.' }],
  ['EACCES', MAY_NOT_READ],
  ['EPERM', MAY_NOT_READ],
])

const messageFor = (thrown: unknown): ProblemText => {
  const code = systemCode(thrown)
  return (
    WORDS.get(code) ?? {
      message: `the file cannot be read (${code ?? 'unknown error'})`,
      fix: 'Check the path and the disk.',
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

const unusable = (file: string, words: ProblemText, isMissing = false): ConfigText => ({
  isMissing,
  unusable: {
    config: undefined,
    isUnreadable: true,
    problems: [{ severity: 'error', file, line: 0, column: 0, key: '', ...words }],
    disabled: [],
  },
})
