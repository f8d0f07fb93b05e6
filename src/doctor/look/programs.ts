import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join, resolve } from 'node:path'

/** The search path for programs, from the variables of a process. */
export interface Search {
  readonly path: string
  /** On Windows, such as `.EXE;.CMD`. */
  readonly extensions: string
  readonly platform: NodeJS.Platform
  /** The base of relative paths. */
  readonly cwd: string
}

/** Returns the file of a command: the path itself, or the first match in PATH. */
export const findProgram = (command: string, search: Search): string | undefined => {
  const { path, platform, cwd } = search
  const isPath = isAbsolute(command) || /[/\\]/.test(command)
  const folders = isPath ? [cwd] : path.split(delimiter).filter(folder => folder !== '')
  const endings = platform === 'win32' ? ['', ...search.extensions.split(';')] : ['']
  for (const folder of folders) {
    for (const ending of endings) {
      const file = isPath ? resolve(folder, `${command}${ending}`) : join(folder, `${command}${ending}`)
      if (isProgram(file)) return file
    }
  }
  return undefined
}

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

const SHOWN_FOLDERS = 12

/** Describes the search for a user. */
export const searchedWords = (command: string, { path, cwd }: Search): string => {
  if (isAbsolute(command)) return 'no such file, or not executable'
  if (/[/\\]/.test(command)) return `there is no such program in ${cwd}`
  const folders = path.split(delimiter).filter(folder => folder !== '')
  const more = folders.length - SHOWN_FOLDERS
  const shown = folders.slice(0, SHOWN_FOLDERS).join(delimiter)
  return `PATH is ${shown === '' ? 'empty' : shown}${more > 0 ? ` and ${more} more folders` : ''}`
}
