import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

/** Everything on the pages of a list, each page as long as it may be. */
const walk = async <T>(page: (cursor?: string) => Promise<{ items: T[]; next: string | undefined }>) => {
  const all: T[] = []
  let cursor: string | undefined
  do {
    const { items, next } = await page(cursor)
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
    const at = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor })
    const tools = await walk(async cursor => {
      const { tools, nextCursor } = await client.listTools(at(cursor))
      return { items: tools.map(({ name }) => name), next: nextCursor }
    })
    assert.ok(tools.length > 10 && tools.every(name => name.startsWith(`${ALIAS}__`)))
    assert.equal(new Set(tools).size, tools.length)
    const prompts = await walk(async cursor => {
      const { prompts, nextCursor } = await client.listPrompts(at(cursor))
      return { items: prompts.map(({ name }) => name), next: nextCursor }
    })
    assert.deepEqual(
      prompts,
      numbered(5, n => `${ALIAS}__prompt-${n}`),
    )
    const resources = await walk(async cursor => {
      const { resources, nextCursor } = await client.listResources(at(cursor))
      return { items: resources.map(({ uri }) => uri), next: nextCursor }
    })
    assert.deepEqual(
      resources,
      numbered(5, n => `${ALIAS}+file:///${n}`),
    )
    const templates = await walk(async cursor => {
      const { resourceTemplates, nextCursor } = await client.listResourceTemplates(at(cursor))
      return { items: resourceTemplates.map(({ uriTemplate }) => uriTemplate), next: nextCursor }
    })
    assert.deepEqual(
      templates,
      numbered(3, n => `${ALIAS}+file:///t${n}/{path}`),
    )
  },
}
