import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

/**
 * A client that calls a tool, reads a resource or fills in a prompt gets what the server gave, to the
 * character.
 */
export const call: Flow = {
  title: 'a tool is called, a resource read, a prompt filled in',
  run: async ({ client, json }) => {
    const args = { n: 1.5, text: 'é☃𝄞\u2028\n', list: [null, true, {}], deep: { a: [{ b: '' }] } }
    assert.deepEqual(await json('echo', args), args)
    const uri = `${ALIAS}+file:///4`
    assert.deepEqual((await client.readResource(uri)).contents, [{ uri, text: 'text of file:///4' }])
    const prompt = await client.getPrompt(`${ALIAS}__prompt-5`, { word: 'Ulm' })
    assert.deepEqual(prompt.messages[0]?.content, { type: 'text', text: 'prompt-5 Ulm' })
  },
}
