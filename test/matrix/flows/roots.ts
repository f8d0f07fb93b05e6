import assert from 'node:assert/strict'
import { type Flow, ROOTS } from '../../support/matrix.js'

/** A server that asks for the roots gets the client's, and the client is asked once. */
export const roots: Flow = {
  title: 'the server learns the roots of the client',
  run: async ({ json, asked }) => {
    assert.deepEqual(await json('ask', { method: 'roots/list' }), { roots: ROOTS })
    assert.deepEqual(asked.splice(0), [{ method: 'roots/list' }])
  },
}
