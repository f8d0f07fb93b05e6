import t from 'tap'
import type { Item, Merged } from '../../../src/catalog/listed.js'
import { decodeCursor, encodeCursor, type Position } from '../../../src/catalog/lists/cursor.js'
import { mergeParts } from '../../../src/catalog/lists/merge.js'
import { cutPage } from '../../../src/catalog/lists/page.js'
import { textOf, valueOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { Server } from '../../../src/peers/server.js'

const SERVERS = ['a', 'b', 'c']
const ITEMS = 7
const PAGE = 4

/** A list of 21 tools of three servers. */
const merged = (): Merged =>
  mergeParts(
    'tools',
    SERVERS.map((alias, index) => {
      const server = { name: alias, options: { alias } } as Server
      const items = Array.from({ length: ITEMS }, (_, n): Item => {
        const exposed = `${alias}__${n}`
        return { server, own: String(n), exposed, text: textOf({ name: exposed }), hasOutputSchema: false }
      })
      return { index, alias, items }
    }),
    silentLogger,
  )

const read = (
  of: Merged,
  cursor?: string,
): { readonly names: readonly string[]; readonly next: string | undefined } => {
  const page = valueOf(cutPage('tools', of, cursor, PAGE)) as {
    tools: readonly { name: string }[]
    nextCursor?: string
  }
  return { names: page.tools.map(({ name }) => name), next: page.nextCursor }
}

/** The whole list, page by page. */
const readAll = (of: Merged): string[] => {
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = read(of, cursor)
    names.push(...page.names)
    cursor = page.next
  } while (cursor !== undefined)
  return names
}

const NAMES = SERVERS.flatMap(alias => Array.from({ length: ITEMS }, (_, n) => `${alias}__${n}`))

t.test('pages hold every item once, and are cut once', async t => {
  const list = merged()
  t.same(readAll(list), NAMES)
  const first = cutPage('tools', list, undefined, PAGE)
  t.same(readAll(list), NAMES)
  t.equal(cutPage('tools', list, undefined, PAGE), first)
  t.equal(list.pages.size, Math.ceil(NAMES.length / PAGE))
})

t.test('made-up cursors lead somewhere, but nothing is kept for them', async t => {
  const list = merged()
  const { next = '' } = read(list)
  const real = decodeCursor(next, 'tools') as Position
  for (let n = 0; n < 2000; n += 1) {
    // A thousand ways to say one place, and as many places as there are.
    const forged = { ...real, aliasIndex: n, index: n % 2 === 0 ? n : real.index, key: `${n % 9}` }
    const { names } = read(list, encodeCursor({ ...forged, alias: SERVERS[n % 5] ?? 'gone' }))
    t.ok(names.length <= PAGE)
  }
  readAll(list)
  t.ok(list.pages.size <= Math.ceil(NAMES.length / PAGE) + 1, `${list.pages.size} pages are kept`)
  const bytes = [...list.pages.values()].reduce((sum, { length }) => sum + length, 0)
  t.ok(bytes < 2 * NAMES.join().length + list.pages.size * 300)
  t.same(readAll(list), NAMES)
})
