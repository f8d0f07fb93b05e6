import { columnsOf } from './look.js'

/** A line on stderr that changes in place while something takes its time; nothing where it is no terminal. */
export class ProgressLine {
  #shown = ''

  show(text: string): void {
    if (!process.stderr.isTTY || text === this.#shown) return
    this.#shown = text
    process.stderr.write(`\r${text.slice(0, Math.max(1, columnsOf(process.stderr) - 1))}\x1b[K`)
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#shown !== '') process.stderr.write('\r\x1b[K')
    this.#shown = ''
  }
}
