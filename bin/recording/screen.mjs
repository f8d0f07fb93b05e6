// A terminal screen that grows downwards, for recordings: text, colors, and the movements of our output.

const COLORS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

/** Returns the style after the codes of an SGR sequence. */
const styled = (style, codes) => {
  let next = style
  for (const code of codes) {
    if (code === 0) next = {}
    else if (code === 1) next = { ...next, weight: 'bold' }
    else if (code === 2) next = { ...next, weight: 'dim' }
    else if (code === 22) next = { ...next, weight: undefined }
    else if (code === 39) next = { ...next, color: undefined }
    else if (code >= 30 && code < 38) next = { ...next, color: COLORS[code - 30] }
    else if (code >= 90 && code < 98) next = { ...next, color: code === 90 ? 'gray' : COLORS[code - 90] }
  }
  return next
}

/** Splits output into texts, control characters and escape sequences. */
const TOKENS = /(?![\r\n\b])\p{Cc}\[([?\d;]*)([A-Za-z])|\p{Cc}|\P{Cc}/gu

export class Screen {
  #columns
  #rows = [[]]
  #row = 0
  #column = 0
  #style = {}
  /** The time at which each row first had text. */
  #times = []

  constructor(columns) {
    this.#columns = columns
  }

  /** Writes output that arrived at a time. */
  write(text, atMs) {
    for (const [token, codes, final] of text.matchAll(TOKENS)) {
      if (final !== undefined) this.#control(codes, final)
      else if (token === '\r') this.#column = 0
      else if (token === '\n') this.#go(this.#row + 1)
      else if (token === '\b') this.#column = Math.max(0, this.#column - 1)
      else if (token >= ' ') this.#put(token, atMs)
    }
  }

  /** The rows, as cells with a character and style, with the time of each. */
  rows() {
    const rows = this.#rows.map((cells, at) => ({ cells, atMs: this.#times[at] }))
    while (rows.at(-1)?.atMs === undefined && rows.length > 0) rows.pop()
    return rows
  }

  text() {
    return this.rows()
      .map(({ cells }) => cells.map(({ char }) => char).join(''))
      .join('\n')
  }

  #go(row) {
    this.#row = Math.max(0, row)
    while (this.#rows.length <= this.#row) this.#rows.push([])
  }

  #put(char, atMs) {
    if (this.#column >= this.#columns) {
      this.#column = 0
      this.#go(this.#row + 1)
    }
    const cells = this.#rows[this.#row]
    while (cells.length < this.#column) cells.push({ char: ' ', style: {} })
    cells[this.#column] = { char, style: this.#style }
    this.#column += 1
    if (char !== ' ') this.#times[this.#row] ??= atMs
  }

  #control(codes, final) {
    const numbers = codes.split(';').map(Number)
    const [count = 0] = numbers
    if (final === 'm') this.#style = styled(this.#style, numbers)
    else if (final === 'A') this.#row = Math.max(0, this.#row - Math.max(1, count))
    else if (final === 'B') this.#go(this.#row + Math.max(1, count))
    else if (final === 'C') this.#column += Math.max(1, count)
    else if (final === 'D') this.#column = Math.max(0, this.#column - Math.max(1, count))
    else if (final === 'G') this.#column = Math.max(0, count - 1)
    else if (final === 'K') this.#rows[this.#row].length = count === 2 ? 0 : this.#column
    else if (final === 'J') {
      this.#rows[this.#row].length = this.#column
      this.#rows.length = this.#row + 1
      this.#times.length = Math.min(this.#times.length, this.#row + 1)
    }
  }
}
