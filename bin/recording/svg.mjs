// An animated picture of a terminal: each row appears when it was printed. It serves light and dark pages.

const CELL = { width: 8.4, height: 20 }
const MARGIN = { side: 16, top: 44, bottom: 16 }
/** The time for which the whole picture stays before it starts again. */
const HOLD_MS = 8_000

const STYLE = `
:root{--back:#fbfbfa;--edge:#d0d7de;--text:#1f2328;--gray:#6e7781;--red:#b3261e;--green:#116329;--yellow:#7d4e00;--blue:#0550ae;--cyan:#1b5f73;--magenta:#8250df}
@media (prefers-color-scheme:dark){:root{--back:#161b22;--edge:#30363d;--text:#e6edf3;--gray:#8b949e;--red:#ff7b72;--green:#56d364;--yellow:#e3b341;--blue:#79c0ff;--cyan:#76e3ea;--magenta:#d2a8ff}}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:var(--text);white-space:pre}
.bold{font-weight:700}.dim,.gray{fill:var(--gray)}`

const COLORS = ['red', 'green', 'yellow', 'blue', 'cyan', 'magenta']

const escaped = text => text.replace(/[&<>]/g, sign => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign])

const classOf = ({ weight, color }) =>
  [weight, color === 'white' || color === 'black' ? undefined : color].filter(Boolean).join(' ')

/** Joins neighbouring cells of one style. */
const spansOf = cells => {
  const spans = []
  for (const { char, style } of cells) {
    const name = classOf(style)
    const last = spans.at(-1)
    if (last !== undefined && last.name === name) last.text += char
    else spans.push({ name, text: char })
  }
  return spans
}

const rowText = (cells, y) => {
  const spans = spansOf(cells).map(({ name, text }) =>
    name === '' ? escaped(text) : `<tspan class="${name}">${escaped(text)}</tspan>`,
  )
  return `<text x="${MARGIN.side}" y="${y}">${spans.join('').trimEnd()}</text>`
}

/** Returns an SVG of these rows, each with `cells` and the time `atMs` at which it appears. */
export const svgOf = (rows, { columns, title, description }) => {
  const width = Math.ceil(columns * CELL.width) + 2 * MARGIN.side
  const height = rows.length * CELL.height + MARGIN.top + MARGIN.bottom
  const last = Math.max(...rows.map(({ atMs = 0 }) => atMs))
  const totalMs = last + HOLD_MS
  const times = [...new Set(rows.map(({ atMs = 0 }) => atMs))]
  const steps = times.map((atMs, at) => {
    const percent = ((atMs / totalMs) * 100).toFixed(2)
    return `@keyframes s${at}{0%{opacity:0}${percent}%,100%{opacity:1}}.s${at}{animation:s${at} ${totalMs}ms step-end infinite}`
  })
  const groups = times.map((atMs, at) => {
    const texts = rows.flatMap((row, y) =>
      (row.atMs ?? 0) === atMs && row.cells.length > 0
        ? [rowText(row.cells, MARGIN.top + y * CELL.height + 14)]
        : [],
    )
    return `<g class="s${at}">${texts.join('\n')}</g>`
  })
  const dots = [0, 1, 2].map(at => `<circle cx="${20 + at * 18}" cy="20" r="5.5" fill="var(--edge)"/>`)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="t d">
<title id="t">${escaped(title)}</title><desc id="d">${escaped(description)}</desc>
<style>${STYLE}
${COLORS.map(color => `.${color}{fill:var(--${color})}`).join('')}
${steps.join('\n')}
@media (prefers-reduced-motion:reduce){g{animation:none!important}}
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="var(--back)" stroke="var(--edge)"/>
${dots.join('')}
${groups.join('\n')}
</svg>
`
}
