/** The line break of a text: that of its first line, `\n` for a text of one line. */
export const lineBreakOf = (text: string): string => /\r\n|\n/.exec(text)?.[0] ?? '\n'

export const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1

/** The offset of the line break that ends this line, or of the end of the text. */
export const lineEnd = (text: string, offset: number): number => {
  const at = text.indexOf('\n', offset)
  if (at === -1) return text.length
  return text[at - 1] === '\r' && at > offset ? at - 1 : at
}

/** The offset at which the next line begins, or the end of the text. */
export const nextLine = (text: string, offset: number): number => {
  const at = text.indexOf('\n', offset)
  return at === -1 ? text.length : at + 1
}

/** The white space that the line begins with. */
export const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? ''

/** Counted from 1. */
export const lineNumber = (text: string, offset: number): number => text.slice(0, offset).split('\n').length

/** Puts an indent before each line but the first. */
export const indented = (text: string, indent: string, lineBreak: string): string =>
  text.split('\n').join(lineBreak + indent)
