/** Returns the paragraphs, list items and table rows of a page as `{ line, text }`, without code blocks. */
export const paragraphsOf = page => {
  const paragraphs = []
  let isCode = false
  let open
  page.split('\n').forEach((line, index) => {
    const isFence = /^\s*(?:```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    const isBlank = line.trim() === '' || /^\|[\s:|-]+\|$|^<!--.*-->$/.test(line)
    if (isFence || isCode || isBlank) {
      open = undefined
      return
    }
    const text = line.replace(/^\s*(?:#+|[-*]|\d+\.|\|)\s+/, '')
    if (open === undefined || text !== line) {
      open = { line: index + 1, text }
      paragraphs.push(open)
    } else open.text += `\n${text}`
  })
  return paragraphs
}
