import t from 'tap'
import { BomFilter } from '../../../src/wire/framing/bom.js'

const BOM = Buffer.from([0xef, 0xbb, 0xbf])

/** Every way to cut some bytes into three chunks, empty ones included. */
function cuts(bytes: Buffer): Buffer[][] {
  const at = [...Array(bytes.length + 1).keys()]
  return at.flatMap(i =>
    at.filter(j => j >= i).map(j => [bytes.subarray(0, i), bytes.subarray(i, j), bytes.subarray(j)]),
  )
}

const filtered = (chunks: Buffer[]) => {
  const filter = new BomFilter()
  return Buffer.concat([...chunks.map(chunk => filter.pass(chunk)), filter.end()]).toString('latin1')
}

t.test('one mark is taken off the start, and only there', async t => {
  const rows: [Buffer, string][] = [
    [BOM, ''],
    [Buffer.concat([BOM, Buffer.from('{}')]), '{}'],
    [Buffer.concat([BOM, BOM, Buffer.from('x')]), '\xef\xbb\xbfx'],
    [Buffer.concat([Buffer.from('x'), BOM]), 'x\xef\xbb\xbf'],
    [Buffer.from([0xef, 0xbb]), '\xef\xbb'],
    [Buffer.from([0xef, 0xbb, 0x78]), '\xef\xbbx'],
    [Buffer.from([0xef, 0xef, 0xbb, 0xbf]), '\xef\xef\xbb\xbf'],
    [Buffer.from([0xbf, 0xbb]), '\xbf\xbb'],
    [Buffer.alloc(0), ''],
  ]
  for (const [bytes, expected] of rows) {
    for (const chunks of cuts(bytes)) {
      t.equal(filtered(chunks), expected, `${bytes.toString('hex')} cut at ${chunks.map(c => c.length)}`)
    }
  }
})

t.test('without a mark, chunks pass as they are', async t => {
  const filter = new BomFilter()
  for (const text of ['{', '}']) {
    const chunk = Buffer.from(text)
    t.equal(filter.pass(chunk), chunk)
  }
})
