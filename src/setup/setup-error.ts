/** A file that cannot be read, edited or written; nothing was written to it. */
export class SetupError extends Error {
  readonly mend: string

  constructor(file: string, message: string, line = 0, mend = mendOf(file, line)) {
    super(`${line === 0 ? file : `${file}:${line}`}: ${message}`)
    this.name = 'SetupError'
    this.mend = mend
  }
}

/** Lines begin with 1; 0 stands for the whole file. */
const mendOf = (file: string, line: number): string =>
  line === 0 ? 'run this again' : `mend line ${line} of ${file}, and run this again`
