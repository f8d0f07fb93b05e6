import t from 'tap'
import { Counter, Histogram } from '../../src/kernel/series.js'

t.test('a counter adds up what it is told', async t => {
  const counter = new Counter()
  counter.add()
  counter.add(2.5)
  t.equal(counter.value, 3.5)
})

t.test('a value falls into the first bucket that is not too small for it', async t => {
  const rows: readonly (readonly [value: number, bucket: number])[] = [
    [0, 0],
    [1, 0],
    [1.1, 1],
    [10, 1],
    [11, 2],
    [Number.POSITIVE_INFINITY, 2],
  ]
  for (const [value, bucket] of rows) {
    const histogram = new Histogram([1, 10])
    histogram.observe(value)
    t.equal(histogram.counts.indexOf(1), bucket, String(value))
    t.equal(histogram.sum, value)
  }
})
