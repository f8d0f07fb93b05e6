/** A file that cannot be read, edited or written; nothing was written to it. */
export class SetupError extends Error {
  /** The file, and the line in it from 1 if there is one. */
  readonly file: string
  readonly line: number

  constructor(file: string, message: string, line = 0) {
    super(`${line === 0 ? file : `${file}:${line}`}: ${message}`)
    this.name = 'SetupError'
    this.file = file
    this.line = line
  }
}
