import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

/**
 * A client gets a server's error with the code, message and data of the server, and a tool's own failure as
 * a result.
 */
export const error: Flow = {
  title: 'errors pass as the server worded them',
  run: async ({ client, wire }) => {
    const name = `${ALIAS}__fail`
    await assert.rejects(client.callTool({ name, arguments: {} }))
    const { answer } = wire.answerTo(wire.lastCall(name))
    assert.deepEqual(answer?.error, { code: -32050, message: 'it broke', data: { part: ['x', 1] } })
    assert.deepEqual(await client.callTool({ name: `${ALIAS}__wrong`, arguments: {} }), {
      content: [{ type: 'text', text: 'try again' }],
      isError: true,
    })
  },
}
