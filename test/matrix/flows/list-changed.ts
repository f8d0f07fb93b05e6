import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

/**
 * A client hears that the tools have changed when the server adds one, and finds it in the list that it then
 * asks for.
 */
export const listChanged: Flow = {
  title: 'a tool that is added is announced, and listed',
  run: async ({ client, wire, call, key }) => {
    const name = `fresh-${key.replace(' ', '-')}`
    await client.list('tools')
    await client.hearChanges()
    const from = wire.heard.length
    assert.equal(await call('add', { name }), 'added')
    await wire.hears(({ method }) => method === 'notifications/tools/list_changed', from)
    const names: string[] = []
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const { items, next } = await client.list('tools', cursor)
      names.push(...items.map(tool => tool.name))
      cursor = next
    }
    assert.ok(names.includes(`${ALIAS}__${name}`))
  },
}
