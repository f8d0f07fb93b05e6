import t from 'tap'
import { shareLists } from '../../../src/app/cluster/shared-lists.js'
import type { CachedServer } from '../../../src/catalog/lists/profile-cache.js'
import type { BroadcastListener } from '../../../src/cluster/broadcasts.js'
import { rawText } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { ServerFacts } from '../../../src/model/peer.js'
import type { ServerOptions } from '../../../src/peers/dial.js'
import type { ServerCacheFiles } from '../../../src/state/server-cache.js'
import { encodeServer } from '../../../src/state/server-cache-file.js'
import { settled } from '../../support/fake-clock.js'

const FACTS = {
  ...{ revision: '2025-11-25', capabilities: { tools: { listChanged: true } } },
  ...{ announced: rawText('{}'), info: rawText('{}'), instructions: undefined },
} as unknown as ServerFacts

const listing = (tool: string): Buffer =>
  encodeServer(new Map([['p', { facts: FACTS, lists: { tools: [rawText(`{"name":"${tool}"}`)] } }]]))

/** Replicas whose notes reach all, also who wrote them. */
const room = (count: number) => {
  const listeners: BroadcastListener[] = []
  const way = { isBroken: false, written: 0 }
  const all = Array.from({ length: count }, () => {
    const server = {} as ServerOptions
    const learned: string[] = []
    let tell: Parameters<ServerCacheFiles['share']>[0] = () => undefined
    shareLists({
      cache: {
        share(given) {
          tell = given
        },
        printOf: each => (each === server ? 'print' : undefined),
      },
      broadcasts: {
        on: (_, listener) => void listeners.push(listener),
        write(_kind, _subject, { value }) {
          if (way.isBroken) return Promise.reject(new Error('no engine'))
          way.written += 1
          for (const each of listeners) each.received(value)
          return Promise.resolve()
        },
      },
      servers: () => [server],
      learned(_, known: CachedServer) {
        learned.push(String(known.get('p')?.lists.tools?.[0]))
      },
      log: silentLogger,
    })
    return { learned, reads: (tool: string) => tell(server, 'print', listing(tool)) }
  })
  return { all, way, listeners }
}

t.test('what one replica reads of a server is learned by the others, once', async t => {
  const { all, way } = room(3)
  const [a, b, c] = all
  a?.reads('one')
  t.same([a?.learned, b?.learned, c?.learned], [[], ['{"name":"one"}'], ['{"name":"one"}']])
  b?.reads('one')
  a?.reads('one')
  t.equal(way.written, 1, 'what all know is not told')
  b?.reads('two')
  t.equal(a?.learned.at(-1), '{"name":"two"}')
  a?.reads('one')
  t.equal(way.written, 2, 'what it has read before is its own, and no news')
})

t.test('a list that comes back is told again', async t => {
  const { all, way } = room(2)
  const [a, b] = all
  for (const tool of ['one', 'two', 'one']) a?.reads(tool)
  t.equal(way.written, 3)
  t.equal(b?.learned.at(-1), '{"name":"one"}')
})

t.test('what the others could not be told, or may have lost, is told with the next reading', async t => {
  const { all, way, listeners } = room(2)
  const [a, b] = all
  way.isBroken = true
  a?.reads('one')
  await settled()
  way.isBroken = false
  a?.reads('one')
  t.equal(b?.learned.length, 1)
  for (const each of listeners) each.lost()
  a?.reads('one')
  t.equal(way.written, 2)
})
