// Medians, spreads, the table and the JSON.
import { cpus } from 'node:os'

const sorted = values => values.filter(value => !Number.isNaN(value)).sort((a, b) => a - b)

export const median = values => {
  const all = sorted(values)
  if (all.length === 0) return Number.NaN
  const middle = Math.floor(all.length / 2)
  return all.length % 2 === 1 ? all[middle] : (all[middle - 1] + all[middle]) / 2
}

/** Returns the median, minimum and maximum. */
export const spreadOf = values => {
  const all = sorted(values)
  return { median: median(all), least: all[0] ?? Number.NaN, most: all.at(-1) ?? Number.NaN }
}

/** Returns the ratios of two targets, by slice. */
export const ratio = (of, to, key) =>
  spreadOf(of.map((slice, i) => slice[key] / (to[i]?.[key] ?? Number.NaN)))

/** Formats a ratio. */
export const show = value => (Number.isNaN(value) ? '–' : value.toFixed(2))
const spread = ({ median: middle, least, most }) =>
  Number.isNaN(middle) ? '–' : `${show(middle)} (${show(least)}–${show(most)})`

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

const digits = value => (value < 100 ? 1 : 0)
const amount = (value, places) => (Number.isNaN(value) ? '–' : value.toFixed(places))

/** Returns one line per target that ran a workload, the floor's first. */
export const rows = (workload, results) =>
  Object.entries(results).map(([name, { slices, ratios, verdict }]) => {
    const of = key => median(slices.map(slice => slice[key]))
    const isFloor = name === 'floor'
    return line([
      isFloor ? `${workload.front}: ${workload.name}` : `    ${name}`,
      amount(of('perSecond'), digits(of('perSecond'))),
      amount(of('cpuUs'), 1),
      amount(of('p50Ms'), 2),
      ...(isFloor ? ['', '', '', ''] : [spread(ratios.rate), spread(ratios.cpu), spread(ratios.p50)]),
      ...(isFloor ? [] : [name === 'ours' ? limitsOf(workload, verdict) : '']),
    ])
  })

const FAULT_TEXTS = {
  wrong: 'wrong answers',
  doubled: 'answers twice',
  lost: 'calls without an answer',
  missing: 'answers before which notices were missing',
  late: 'notices after the answer',
  unordered: 'notices out of order',
}

/** Returns lines for faults; empty without faults. */
export const faultLines = (name, faults, example) => {
  const counted = Object.entries(FAULT_TEXTS)
    .filter(([kind]) => faults[kind] > 0)
    .map(([kind, text]) => `${faults[kind]} ${text}`)
  return counted.length === 0 ? [] : [`    ${name}: FAULTS: ${counted.join(', ')}; the first is ${example}`]
}

/** Returns faults per target, including warm-up, and the reasons for aborted measurements. */
export const troubles = results =>
  Object.entries(results).flatMap(([name, { faults, example, trouble }]) => [
    ...(trouble === undefined ? [] : [`    ${name}: ${trouble}`]),
    ...faultLines(name, faults, example),
  ])

export const figure = (name, values, unit) =>
  `${name.padEnd(40)} ${Object.entries(values)
    .map(([target, value]) => `${target} ${amount(value, 1)} ${unit}`)
    .join(', ')}`

export const growthLine = (name, { floor, ours, against, limit, faults }) =>
  [
    `CPU per call, ${name}: grows by floor ${show(floor)}, ours ${show(ours)}, ours against floor ${spread(against)}`,
    `≤ ${limit} ${against.median <= limit ? '✓' : '✗'}`,
    ...(faults === 0 ? [] : [`${faults} FAULTS`]),
  ].join('   ')

/** Describes the machine. */
export const machine = () => ({
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  cpu: cpus()[0]?.model ?? 'unknown',
  cpus: cpus().length,
  date: new Date().toISOString(),
})
