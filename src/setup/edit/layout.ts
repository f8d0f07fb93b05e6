/** Returns the line break of a text's first line; `\n` for a single line. */
export const lineBreakOf = (text: string): string => /\r\n|\n/.exec(text)?.[0] ?? '\n'

export const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1

/** Returns the offset of the line break that ends this line, or of the end of the text. */
export const lineEnd = (text: string, offset: number): number => {
  const at = text.indexOf('\n', offset)
  if (at === -1) return text.length
  return text[at - 1] === '\r' && at > offset ? at - 1 : at
}

/** Returns the offset of the next line, or of the end of the text. */
export const nextLine = (text: string, offset: number): number => {
  const at = text.indexOf('\n', offset)
  return at === -1 ? text.length : at + 1
}

/** Returns the line's leading white space. */
export const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? ''

/** Counts from 1. */
export const lineNumber = (text: string, offset: number): number => text.slice(0, offset).split('\n').length

/** Indents each line but the first. */
export const indented = (text: string, indent: string, lineBreak: string): string =>
  text.split('\n').join(lineBreak + indent)
