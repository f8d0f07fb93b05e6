import picocolors from 'picocolors'
import { oneLineText } from './output.js'
import { columnsOf, hasColor } from './terminal.js'

export interface TableLayout {
  /** Terminal columns; undefined for a file or pipe, which truncates nothing. */
  readonly width: number | undefined
  readonly hasColor: boolean
}

/** Returns the layout for stdout. */
export const stdoutLayout = (): TableLayout => ({
  width: process.stdout.isTTY ? columnsOf(process.stdout) : undefined,
  hasColor: hasColor(process.stdout),
})

const GAP = '  '
const ELLIPSIS = '…'
/** Minimum width of a truncated column; narrower tables wrap. */
const MIN_WIDTH = 6

const EAST_ASIAN =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u

const charWidth = (char: string): number => {
  if (/\p{Mn}|\p{Cf}/u.test(char)) return 0
  return EAST_ASIAN.test(char) || /\p{Emoji_Presentation}/u.test(char) ? 2 : 1
}

const textWidth = (text: string): number => {
  let width = 0
  for (const char of text) width += charWidth(char)
  return width
}

const cut = (text: string, width: number): string => {
  if (textWidth(text) <= width) return text
  let kept = ''
  let used = 0
  for (const char of text) {
    used += charWidth(char)
    if (used > width - 1) break
    kept += char
  }
  return kept + ELLIPSIS
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - textWidth(text)))

/** Narrows the widest columns until a line fits the terminal. */
const fitted = (widths: readonly number[], room: number | undefined): readonly number[] => {
  const fitting = [...widths]
  const gaps = GAP.length * (widths.length - 1)
  let excess = room === undefined ? 0 : fitting.reduce((sum, width) => sum + width, gaps) - room
  while (excess > 0) {
    const widest = Math.max(...fitting)
    if (widest <= MIN_WIDTH) break
    // Shrinks to the second widest at once: a cell may hold thousands of characters.
    const [, second = 0] = fitting.toSorted((one, other) => other - one)
    const step = Math.min(excess, Math.max(1, widest - Math.max(MIN_WIDTH, second)))
    fitting[fitting.lastIndexOf(widest)] = widest - step
    excess -= step
  }
  return fitting
}

/** Formats an aligned table with headings; truncates the widest columns to fit a terminal. */
export const tableText = (
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  layout: TableLayout,
): string => {
  const lines = [headings, ...rows].map(row => row.map(oneLineText))
  const last = headings.length - 1
  const natural = headings.map((_, column) => Math.max(...lines.map(row => textWidth(row[column] ?? ''))))
  const widths = fitted(natural, layout.width)
  const colors = picocolors.createColors(layout.hasColor)
  return lines
    .map((row, index) => {
      const cells = row.map((cell, column) => {
        const width = widths[column] ?? 0
        const text = cut(cell, width)
        return column < last ? pad(text, width) : text
      })
      const line = cells.join(GAP).trimEnd()
      return index === 0 ? colors.bold(line) : line
    })
    .join('\n')
}
