import assert from 'node:assert/strict'
import { ELICITED, ROOTS, SAMPLED } from '../../support/client/sdk-client.js'
import { MODERN } from '../../support/era/codec.js'
import type { Flow } from './rig.js'

const SAMPLING = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Write a haiku' } }],
  maxTokens: 5,
  temperature: 0.5,
}

/**
 * A server that asks for a sample gets the client's, once, and the client is asked exactly what the server
 * asked.
 */
export const sampling: Flow = {
  title: 'the server samples from the client, and goes on once with the sample',
  run: async ({ json, asked, key }) => {
    const question = { method: 'sampling/createMessage', params: SAMPLING, key: `sampling ${key}` }
    assert.deepEqual(await json('ask', question), SAMPLED)
    assert.deepEqual(asked.splice(0), [{ method: 'sampling/createMessage', params: SAMPLING }])
    assert.deepEqual(await json('ran', question), { begun: 1, done: 1 })
  },
}

const FORM = {
  message: 'Where?',
  requestedSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

/**
 * A server that asks the person gets the answer of a client whose revision can be asked, once, and is refused
 * for
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
