import assert from 'node:assert/strict'
import { ELICITED, type Flow } from '../../support/matrix.js'

const FORM = {
  message: 'Where?',
  requestedSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

/**
 * A server that asks the person gets the answer of a client whose revision can be asked, and is refused for
 * any other.
 */
export const elicitation: Flow = {
  title: 'the server asks the person at the client',
  run: async ({ pair, json, asked }) => {
    const answer = await json('ask', { method: 'elicitation/create', params: FORM })
    if (pair.clientRevision >= '2025-06-18') {
      assert.deepEqual(answer, ELICITED)
      assert.deepEqual(
        asked.splice(0).map(({ method }) => method),
        ['elicitation/create'],
      )
    } else {
      // It came with 2025-06-18: a client of an older revision cannot be asked, whatever it declares.
      assert.equal(answer.error.code, -32601)
      assert.deepEqual(asked, [])
    }
  },
}
