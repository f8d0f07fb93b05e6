import assert from 'node:assert/strict'
import { ELICITED, type Flow, MODERN } from '../../support/matrix.js'

const FORM = {
  message: 'Where?',
  requestedSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

/**
 * A server that asks the person gets the answer of a client whose revision can be asked, once, and is refused for
 * any other.
 */
export const elicitation: Flow = {
  title: 'the server asks the person at the client, and goes on once with the answer',
  run: async ({ pair, json, call, asked, key }) => {
    const question = { method: 'elicitation/create', params: FORM, key: `elicitation ${key}` }
    if (pair.clientRevision >= '2025-06-18') {
      assert.deepEqual(await json('ask', question), ELICITED)
      assert.deepEqual(
        asked.splice(0).map(({ method }) => method),
        ['elicitation/create'],
      )
      assert.deepEqual(await json('ran', question), { begun: 1, done: 1 })
      return
    }
    // It came with 2025-06-18: a client of an older revision cannot be asked, whatever it declares.
    if (pair.serverRevision === MODERN) await assert.rejects(call('ask', question), { code: -32603 })
    else assert.equal((await json('ask', question)).error.code, -32601)
    assert.deepEqual(asked, [])
  },
}
