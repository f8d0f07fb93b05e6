import assert from 'node:assert/strict'
import type { Flow } from '../../support/matrix.js'

const RESULT_BYTES = 4 * 1024 * 1024

/** A client gets a result of 4 MiB whole, whose characters take two, three and four bytes. */
export const largeResult: Flow = {
  title: 'a result of 4 MiB arrives',
  run: async ({ call }) => {
    const text = await call('large', { bytes: RESULT_BYTES })
    assert.ok(text === 'é☃𝄞'.repeat(Math.ceil(RESULT_BYTES / 9)), 'it is the same text')
  },
}
