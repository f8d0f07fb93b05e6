import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'
import type { AnyClient, List } from '../../support/matrix-peer.js'
import type { Loose } from '../../support/raw-client.js'

/** Everything on the pages of a list, each page as long as it may be. */
const walk = async (client: AnyClient, list: List): Promise<Loose[]> => {
  const all: Loose[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await client.list(list, cursor)
    assert.equal(items.length, next === undefined ? items.length : 3, 'a page but the last is full')
    all.push(...items)
    cursor = next
  } while (cursor !== undefined)
  return all
}

const numbered = (count: number, text: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => text(n + 1))

/**
 * A client that follows the cursors sees every tool, prompt, resource and template once, under the server's
 * alias, on pages as long as configured.
 */
export const lists: Flow = {
  title: 'lists come whole, in pages',
  run: async ({ client }) => {
    const tools = (await walk(client, 'tools')).map(({ name }) => name as string)
    assert.ok(tools.length > 10 && tools.every(name => name.startsWith(`${ALIAS}__`)))
    assert.equal(new Set(tools).size, tools.length)
    assert.deepEqual(
      (await walk(client, 'prompts')).map(({ name }) => name),
      numbered(5, n => `${ALIAS}__prompt-${n}`),
    )
    assert.deepEqual(
      (await walk(client, 'resources')).map(({ uri }) => uri),
      numbered(5, n => `${ALIAS}+file:///${n}`),
    )
    assert.deepEqual(
      (await walk(client, 'resourceTemplates')).map(({ uriTemplate }) => uriTemplate),
      numbered(3, n => `${ALIAS}+file:///t${n}/{path}`),
    )
  },
}
