import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

const URI = `${ALIAS}+file:///1`
const isUpdate = ({ method }: { method?: string }): boolean => method === 'notifications/resources/updated'

/**
 * A client that ends the subscription made before hears of no further update, and the server knows that
 * nobody listens.
 */
export const unsubscribe: Flow = {
  title: 'after the end of a subscription nothing is sent',
  run: async ({ client, wire, json, call }) => {
    const before = wire.heard.filter(isUpdate).length
    await client.unsubscribe(URI)
    assert.deepEqual(await json('subscribed', { uri: 'file:///1', wanted: false }), [])
    assert.equal(await call('touch', { uri: 'file:///1' }), 'nobody is subscribed')
    assert.equal(wire.heard.filter(isUpdate).length, before)
  },
}
