import assert from 'node:assert/strict'
import { type Flow, ROOTS } from '../../support/matrix.js'

/** A server that asks for the roots gets the client's, once, and the client is asked once. */
export const roots: Flow = {
  title: 'the server learns the roots of the client, and goes on once with them',
  run: async ({ json, asked, key }) => {
    const question = { method: 'roots/list', key: `roots ${key}` }
    assert.deepEqual(await json('ask', question), { roots: ROOTS })
    assert.deepEqual(
      asked.splice(0).map(({ method }) => method),
      ['roots/list'],
    )
    assert.deepEqual(await json('ran', question), { begun: 1, done: 1 })
  },
}
