// Helpers for the pages that bin/write-docs.mjs writes.

/** A table; `|` in a cell is escaped. */
export const table = (heads, rows) =>
  [heads, heads.map(() => '---'), ...rows].map(cells => `| ${cells.map(cell).join(' | ')} |`).join('\n')

const cell = text => text.replaceAll('\n', ' ').replaceAll('|', '\\|')

/** Turns the names of pages of docs/, such as `docs/search.md#ranking`, into links relative to `page`. */
export const linked = (text, page) =>
  text.replace(/docs\/([\w-]+\.md)(#[\w-]+)?/g, (_all, name, anchor = '') =>
    name === page ? `[below](${anchor})` : `[${name}](${name}${anchor})`,
  )

const BEGIN = name => `<!-- begin ${name}: written by npm run docs -->`
const END = '<!-- end -->'

/** Replaces the part of a page between its two marks; throws if they are missing. */
export const withPart = (page, name, text) => {
  const start = page.indexOf(BEGIN(name))
  const end = page.indexOf(END, start)
  if (start === -1 || end === -1) throw new Error(`the marks of "${name}" are missing`)
  return `${page.slice(0, start)}${BEGIN(name)}\n\n${text}\n\n${page.slice(end)}`
}
