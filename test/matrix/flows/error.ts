import assert from 'node:assert/strict'
import { ALIAS, type Flow, MODERN } from '../../support/matrix.js'

/**
 * A client gets a server's error with the code, message and data of the server, and a tool's own failure as
 * a result. Since 2026-07-28 codes that the specification reserves are not passed on; what it was is in the data.
 */
export const error: Flow = {
  title: 'errors pass as the server worded them',
  run: async ({ pair, client, wire }) => {
    const name = `${ALIAS}__fail`
    await assert.rejects(client.callTool(name))
    const { answer } = wire.answerTo(wire.lastCall(name))
    if (pair.clientRevision === MODERN) {
      assert.equal(answer?.error?.code, -32603)
      assert.equal(answer?.error?.message, 'it broke')
      assert.equal(answer?.error?.data.code, -32050)
    } else assert.deepEqual(answer?.error, { code: -32050, message: 'it broke', data: { part: ['x', 1] } })
    const { content, isError } = await client.callTool(`${ALIAS}__wrong`)
    assert.deepEqual({ content, isError }, { content: [{ type: 'text', text: 'try again' }], isError: true })
  },
}
