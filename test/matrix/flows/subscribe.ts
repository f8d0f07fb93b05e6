import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

const URI = `${ALIAS}+file:///1`

/** A client that subscribes to a resource hears of its update, under the URI by which the client knows it. */
export const subscribe: Flow = {
  title: 'an update of a resource reaches its subscriber',
  run: async ({ client, wire, call }) => {
    await client.subscribe(URI)
    assert.equal(await call('touch', { uri: 'file:///1' }), 'touched')
    const { params } = await wire.hears(({ method }) => method === 'notifications/resources/updated')
    const { _meta, ...said } = params
    assert.deepEqual(said, { uri: URI })
  },
}
