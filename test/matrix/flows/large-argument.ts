import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Flow } from '../../support/matrix.js'

const MIB = 1024 * 1024

/** A server gets an argument of more than 1 MiB whole, whose characters take two, three and four bytes. */
export const largeArgument: Flow = {
  title: 'an argument of 1 MiB arrives',
  run: async ({ call }) => {
    const text = 'ä€𝄞'.repeat(MIB / 8)
    assert.equal(await call('digest', { text }), createHash('sha256').update(text).digest('hex'))
  },
}
