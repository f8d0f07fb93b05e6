/** One sample as a scraper sees it. */
export interface ReadSample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*?)\})? (\S+)(?: # \{trace_id="[0-9a-f]{32}"\} \S+ \d+\.\d+)?$/
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/y

/**
 * Reads metrics in both formats and throws on input that a scraper would reject: an invalid line, a sample
 * before its TYPE and HELP, a split family, or an inconsistent histogram.
 */
export const readMetrics = (
  text: string,
  format: 'text' | 'openmetrics' = 'text',
): ReadonlyMap<string, readonly ReadSample[]> => {
  if (!text.endsWith(format === 'openmetrics' ? '# EOF\n' : '\n')) throw new Error('it does not end')
  const types = new Map<string, string>()
  const helped = new Set<string>()
  const found = new Map<string, ReadSample[]>()
  let family = ''
  for (const line of text.slice(0, -1).split('\n')) {
    if (line === '# EOF') continue
    const [, about, name = '', rest = ''] = /^# (TYPE|HELP|UNIT) (\S+) (.*)$/.exec(line) ?? []
    if (about === 'TYPE') {
      if (types.has(name)) throw new Error(`${name} stands there twice`)
      types.set(name, rest)
      family = name
    } else if (about === 'HELP') helped.add(name)
    else if (about === 'UNIT') {
      if (!name.endsWith(`_${rest}`)) throw new Error(`${name} does not end in its unit`)
    } else {
      const sample = readSample(line)
      if (!sample.name.startsWith(family) || !helped.has(family)) throw new Error(`out of place: ${line}`)
      found.set(sample.name, [...(found.get(sample.name) ?? []), sample])
    }
  }
  for (const [name, type] of types) if (type === 'histogram') checkHistogram(name, found)
  return found
}

const readSample = (line: string): ReadSample & { readonly name: string } => {
  const [, name, pairs = '', value] = SAMPLE.exec(line) ?? []
  if (name === undefined) throw new Error(`no sample: ${line}`)
  const labels: Record<string, string> = {}
  LABEL.lastIndex = 0
  let end = 0
  for (let found = LABEL.exec(pairs); found !== null; found = LABEL.exec(pairs)) {
    const [, key = '', text = ''] = found
    if (key in labels) throw new Error(`twice ${key}: ${line}`)
    labels[key] = text.replace(/\\(.)/g, (_, sign) => (sign === 'n' ? '\n' : String(sign)))
    end = LABEL.lastIndex
  }
  if (end !== pairs.length) throw new Error(`labels that cannot be read: ${line}`)
  const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value)
  if (Number.isNaN(number) && value !== 'NaN') throw new Error(`no number: ${line}`)
  return { name, labels, value: number }
}

const checkHistogram = (name: string, found: ReadonlyMap<string, readonly ReadSample[]>): void => {
  const keyOf = ({ le: _, ...labels }: Readonly<Record<string, string>>): string => JSON.stringify(labels)
  for (const { labels, value } of found.get(`${name}_count`) ?? []) {
    const buckets = (found.get(`${name}_bucket`) ?? []).filter(one => keyOf(one.labels) === keyOf(labels))
    const counts = buckets.map(bucket => bucket.value)
    const isSorted = counts.every((count, at) => count >= (counts[at - 1] ?? 0))
    if (!isSorted || buckets.at(-1)?.labels['le'] !== '+Inf' || counts.at(-1) !== value)
      throw new Error(`${name} does not add up`)
  }
}
