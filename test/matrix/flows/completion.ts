import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

/**
 * A client that completes an argument of a template gets the values of the server, which sees the URI as its
 * own.
 */
export const completion: Flow = {
  title: 'an argument is completed',
  run: async ({ pair, client }) => {
    // The SDK refuses to ask where the capability is missing, as it is in the oldest revision.
    if (pair.clientRevision < '2025-03-26') return
    const ref = { type: 'ref/resource', uri: `${ALIAS}+file:///t2/{path}` }
    const { completion } = await client.complete(ref, { name: 'path', value: 'x' })
    assert.deepEqual(completion.values, ['file:///t2/{path} x'])
  },
}
