import { readFile, stat } from 'node:fs/promises'
import { MAX_FILE_BYTES } from './defaults.js'
import { parseConfig } from './parse.js'
import type { Words } from './problem.js'
import type { Environment, Loaded } from './types.js'

/** Reads and resolves a configuration file; a file that cannot be read is a problem like any other. */
export async function loadConfig(file: string, env: Environment): Promise<Loaded> {
  try {
    const { size } = await stat(file)
    if (size > MAX_FILE_BYTES) return unusable(file, TOO_LARGE)
    const text = decode(await readFile(file))
    return text === undefined ? unusable(file, NOT_UTF8) : parseConfig(text, file, env)
  } catch (thrown) {
    return unusable(file, wordsFor(thrown))
  }
}

const TOO_LARGE: Words = {
  message: `the file is longer than ${MAX_FILE_BYTES / 1024 / 1024} MiB`,
  mend: 'Check that this is the right file.',
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

const unusable = (file: string, words: Words): Loaded => ({
  config: undefined,
  problems: [{ severity: 'error', file, line: 0, column: 0, key: '', ...words }],
  disabled: [],
})
