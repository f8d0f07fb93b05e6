import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

/**
 * A server hears of a cancelled call once, under its own id and with the client's reason; the client gets no
 * answer to it.
 */
export const cancel: Flow = {
  title: 'a cancellation reaches the server once, under its own id, and nothing comes back',
  run: async ({ client, wire, json }) => {
    const name = `${ALIAS}__wait`
    const from = wire.heard.length
    const stop = new AbortController()
    const { signal } = stop
    const ended = assert.rejects(
      client.callTool({ name, arguments: {} }, undefined, { signal, onprogress: () => undefined }),
    )
    await wire.hears(({ method }) => method === 'notifications/progress', from)
    stop.abort('enough')
    await ended
    const first = await json('cancels')
    const [waited] = first.waits
    assert.deepEqual(
      first.cancels.map(({ params }: { params: object }) => params),
      [{ requestId: waited, reason: 'enough' }],
    )
    assert.deepEqual(await json('cancels'), first, 'nothing comes after it')
    assert.equal(wire.answerTo(wire.lastCall(name)).answer, undefined, 'the client gets no answer')
  },
}
