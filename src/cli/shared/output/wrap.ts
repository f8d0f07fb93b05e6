import { columnsOf } from './terminal.js'

interface Layout {
  readonly separator?: string
  /** Prefix of each line but the first. */
  readonly indent?: string
  readonly width?: number
}

const stderrWidth = (): number =>
  process.stderr.isTTY ? columnsOf(process.stderr) : Number.POSITIVE_INFINITY

/**
 * Joins parts into lines that fit the terminal on stderr, without breaking a part. Without a terminal,
 * returns one line.
 */
export const wrapped = (
  parts: readonly string[],
  { separator = ' ', indent = '  ', width = stderrWidth() }: Layout = {},
): string => {
  const lines: string[] = []
  let line = ''
  for (const [at, part] of parts.entries()) {
    const item = at < parts.length - 1 ? part + separator : part
    if (line.trim() !== '' && line.length + item.trimEnd().length >= width) {
      lines.push(line.trimEnd())
      line = indent
    }
    line += item
  }
  return [...lines, line].join('\n')
}

/** Wraps a sentence, optionally indented. */
export const wrappedText = (text: string, layout: Layout = {}): string => {
  const [, start = '', rest = ''] = /^(\s*)(.*)$/s.exec(text) ?? []
  const [first = '', ...words] = rest.split(' ')
  return wrapped([start + first, ...words], layout)
}
