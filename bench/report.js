// Medians, spreads, the table and the JSON.
import { cpus } from 'node:os'

const sorted = values => values.filter(value => !Number.isNaN(value)).sort((a, b) => a - b)

export const median = values => {
  const all = sorted(values)
  if (all.length === 0) return Number.NaN
  const middle = Math.floor(all.length / 2)
  return all.length % 2 === 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2
}

/** The ratios of two targets slice by slice, as median, least and greatest. */
export const ratio = (of, to, key) => {
  const all = sorted(of.map((slice, i) => slice[key] / to[i][key]))
  return { median: median(all), least: all[0] ?? Number.NaN, most: all.at(-1) ?? Number.NaN }
}

const show = value => (Number.isNaN(value) ? '–' : value.toFixed(2))
const spread = ({ median: middle, least, most }) => `${show(middle)} (${show(least)}–${show(most)})`

const isWithin = (limits, ratios) =>
  Object.entries(limits).every(([key, limit]) =>
    key === 'rate' ? ratios[key].median >= limit : ratios[key].median <= limit,
  )

export const verdictOf = ({ must, wish }, ratios) => {
  if (must === undefined) return ''
  if (!isWithin(must, ratios)) return 'MISSED'
  return isWithin(wish, ratios) ? 'stretch' : 'must'
}

const COLUMNS = [
  ['', 40],
  ['calls/s', 9],
  ['CPU µs', 9],
  ['p50 ms', 8],
  ['rate ratio', 19],
  ['CPU ratio', 19],
  ['p50 ratio', 19],
  ['target', 24],
]

const line = cells =>
  cells.map((cell, i) => (i === 0 ? cell.padEnd(COLUMNS[i][1]) : cell.padStart(COLUMNS[i][1]))).join(' ')

export const heading = () => line(COLUMNS.map(([name]) => name))

const limitsOf = ({ must }, verdict) =>
  must === undefined
    ? ''
    : `${Object.entries(must)
        .map(([key, limit]) => `${key} ${key === 'rate' ? '≥' : '≤'} ${limit}`)
        .join(', ')} ${verdict === 'MISSED' ? '✗' : '✓'}`

/** One line for each target that ran a workload; the floor's comes first. */
export const rows = (workload, results) =>
  Object.entries(results).map(([name, { slices, ratios, verdict, faults }]) => {
    const of = key => median(slices.map(slice => slice[key]))
    const isFloor = name === 'floor'
    return line([
      isFloor
        ? `${workload.front}: ${workload.name}`
        : `    ${name}${faults > 0 ? ` (${faults} WRONG)` : ''}`,
      of('perSecond').toFixed(of('perSecond') < 100 ? 1 : 0),
      of('cpuUs').toFixed(1),
      of('p50Ms').toFixed(2),
      ...(isFloor ? ['', '', '', ''] : [spread(ratios.rate), spread(ratios.cpu), spread(ratios.p50)]),
      ...(isFloor ? [] : [name === 'ours' ? limitsOf(workload, verdict) : '']),
    ])
  })

export const figure = (name, values, unit) =>
  `${name.padEnd(40)} ${Object.entries(values)
    .map(([target, value]) => `${target} ${Number.isNaN(value) ? '–' : value.toFixed(1)} ${unit}`)
    .join(', ')}`

/** What the figures were measured on. */
export const machine = () => ({
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  cpu: cpus()[0]?.model ?? 'unknown',
  cpus: cpus().length,
  date: new Date().toISOString(),
})
