import t from 'tap'
import type { Item, Merged } from '../../../src/catalog/listed.js'
import { textOf } from '../../../src/kernel/json/text.js'
import { ToolFinder } from '../../../src/mux/search/finder.js'

t.test('when the list of one server changes, only its tools are read again', async t => {
  const read: string[] = []
  const listOf = (alias: string, names: readonly string[]): readonly Item[] =>
    names.map(own => {
      const item = { exposed: `${alias}__${own}`, own, server: { name: alias, options: { alias } } }
      const text = textOf({ name: own })
      return Object.defineProperty(item, 'text', {
        get: () => {
          read.push(item.exposed)
          return text
        },
      }) as unknown as Item
    })
  const mergedOf = (...lists: readonly (readonly Item[])[]): Merged => {
    const parts = lists.map((items, index) => ({ index, alias: '', items }))
    return { parts, byExposed: new Map(), pages: new Map() }
  }
  const [kept, before, after] = [listOf('a', ['tiger']), listOf('b', ['lion']), listOf('b', ['lynx'])]
  const finder = new ToolFinder(() => [])
  const find = async (merged: Merged, query: string): Promise<readonly string[]> =>
    (await finder.find(merged, { query, also: [], limit: 5 })).map(({ exposed }) => exposed)
  const first = mergedOf(kept, before)
  t.strictSame(await find(first, 'lion'), ['b__lion'])
  t.strictSame([...new Set(read.splice(0))], ['a__tiger', 'b__lion'])
  t.strictSame(await find(first, 'tiger'), ['a__tiger'])
  t.strictSame(read, [], 'nothing is read for another question')
  const second = mergedOf(kept, after)
  t.strictSame(await find(second, 'lynx'), ['b__lynx'])
  t.strictSame(await find(second, 'tiger'), ['a__tiger'])
  t.strictSame(await find(second, 'lion'), [])
  t.strictSame([...new Set(read)], ['b__lynx'])
})
