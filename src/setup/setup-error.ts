/** Reports a file that cannot be read, edited or written; nothing was written to it. */
export class SetupError extends Error {
  readonly fix: string

  constructor(file: string, message: string, line = 0, fix = fixOf(file, line)) {
    super(`${line === 0 ? file : `${file}:${line}`}: ${message}`)
    this.name = 'SetupError'
    this.fix = fix
  }
}

/** Lines start at 1; 0 means the whole file. */
const fixOf = (file: string, line: number): string =>
  line === 0 ? 'run this again' : `correct line ${line} of ${file}, and run this again`
