import assert from 'node:assert/strict'
import { type Flow, SAMPLED } from '../../support/matrix.js'

const SAMPLING = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Write a haiku' } }],
  maxTokens: 5,
  temperature: 0.5,
}

/**
 * A server that asks for a sample gets the client's, once, and the client is asked exactly what the server asked.
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
