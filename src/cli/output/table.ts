import picocolors from 'picocolors'
import { columnsOf, hasColor } from './look.js'
import { oneLine } from './output.js'

export interface Look {
  /** Columns of the terminal; undefined for a file or a pipe, where nothing is cut. */
  readonly width: number | undefined
  readonly hasColor: boolean
}

/** How to draw on our stdout. */
export const stdoutLook = (): Look => ({
  width: process.stdout.isTTY ? columnsOf(process.stdout) : undefined,
  hasColor: hasColor(process.stdout),
})

const GAP = '  '
const ELLIPSIS = '…'
/** The least width of the last column; lines wrap instead. */
const MIN_LAST_WIDTH = 16

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

/** A table with aligned columns under a line of headings; on a terminal the last column is cut to fit. */
export const tableText = (
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  look: Look,
): string => {
  const lines = [headings, ...rows].map(row => row.map(oneLine))
  const last = headings.length - 1
  const widths = headings.map((_, column) => Math.max(...lines.map(row => textWidth(row[column] ?? ''))))
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + GAP.length, 0)
  const room = look.width === undefined ? undefined : Math.max(MIN_LAST_WIDTH, look.width - before)
  const colors = picocolors.createColors(look.hasColor)
  return lines
    .map((row, index) => {
      const cells = row.map((cell, column) => {
        if (column < last) return pad(cell, widths[column] ?? 0)
        return room === undefined ? cell : cut(cell, room)
      })
      const line = cells.join(GAP).trimEnd()
      return index === 0 ? colors.bold(line) : line
    })
    .join('\n')
}
