import { columnsOf } from './terminal.js'

/** A stderr line that updates in place during slow work; does nothing without a terminal. */
export class ProgressLine {
  #shown = ''

  show(text: string): void {
    if (!process.stderr.isTTY || text === this.#shown) return
    this.#shown = text
    process.stderr.write(`\r${text.slice(0, Math.max(1, columnsOf(process.stderr) - 1))}\x1b[K`)
  }

  clear(): void {
    if (this.#shown !== '') process.stderr.write('\r\x1b[K')
    this.#shown = ''
  }
}
