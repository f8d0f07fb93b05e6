import t from 'tap'
import { createReader, type StreamEvent } from '../../src/ui/live/events.js'
import { retryMs } from '../../src/ui/live/live.js'
import { newsBetween } from '../../src/ui/live/news.js'
import { codeIn, hrefOf, parseRoute, routePartsOf } from '../../src/ui/live/route.js'
import { afterEvent, NOTHING } from '../../src/ui/live/state.js'
import { call, server, servers, state } from './facts.js'

t.test('events are read however they are cut', async t => {
  const text = ':\n\nid: 1\nevent: status\ndata: {"a":\ndata: 1}\n\nevent: answer\ndata: {}\n\nevent: half'
  const whole: StreamEvent[] = []
  createReader(told => whole.push(told))(text)
  t.same(whole, [
    { id: '1', event: 'status', data: '{"a":\n1}' },
    { id: undefined, event: 'answer', data: '{}' },
  ])
  const pieces: StreamEvent[] = []
  const feed = createReader(told => pieces.push(told))
  for (const char of text) feed(char)
  t.same(pieces, whole)
})

t.test('waits between attempts grow up to fifteen seconds', async t => {
  t.same(
    [0, 1, 2, 3, 4, 9].map(attempts => retryMs(attempts, 0)),
    [1000, 2000, 4000, 8000, 15_000, 15_000],
  )
  t.equal(retryMs(0, 1), 800)
})

t.test('an address names a view, an item and a filter, and a code is separate', async t => {
  t.same(parseRoute('#/tools/a%20b%2Fc'), { view: 'tools', item: 'a b/c', filter: '' })
  t.same(parseRoute(hrefOf('calls', '', 'client 4')), { view: 'calls', item: undefined, filter: 'client 4' })
  t.same(parseRoute('#/constructor'), { view: 'overview', item: undefined, filter: '' })
  t.same(parseRoute('#/servers/%E0%A4%A'), { view: 'servers', item: undefined, filter: '' })
  t.equal(codeIn(`#${'a'.repeat(32)}`), 'a'.repeat(32))
  t.equal(codeIn('#/servers'), undefined)
  t.equal(routePartsOf(parseRoute('#/errors')), 'status,servers,errors')
  t.equal(routePartsOf(parseRoute('#/tools')), 'status,servers')
})

t.test('new entries follow the existing ones, and a new stream starts over', async t => {
  const at = (before: typeof NOTHING, isFirst: boolean, ...ns: number[]) =>
    afterEvent(before, {
      event: 'calls',
      value: { version: 1, underWay: [], recent: ns.map(n => call(n)) },
      isFirst,
    })
  const two = at(at(NOTHING, true, 1, 2), false, 3)
  t.same(
    two.calls?.map(({ n }) => n),
    [1, 2, 3],
  )
  t.same(
    at(two, true, 7).calls?.map(({ n }) => n),
    [7],
  )
  const many = at(two, false, ...Array.from({ length: 600 }, (_, n) => n + 4))
  t.equal(many.calls?.length, 512, 'no more than the proxy keeps')
  const errors = (id: string) => ({ version: 1, errors: [{ id, at: '', code: 1, message: '' }] })
  const one = afterEvent(NOTHING, { event: 'errors', value: errors('a'), isFirst: true })
  t.match(afterEvent(one, { event: 'errors', value: errors('b'), isFirst: false }).errors, [
    { id: 'a' },
    { id: 'b' },
  ])
  for (const event of ['status', 'servers', 'clients', 'config'])
    t.match(afterEvent(NOTHING, { event, value: 7, isFirst: true }), { [event]: 7 })
  t.equal(afterEvent(NOTHING, { event: 'what', value: 7, isFirst: true }), NOTHING)
})

t.test('only what matters is said aloud', async t => {
  const one = state()
  const lost = state({ link: { is: 'lost', why: '', retryAt: 0 } })
  t.equal(newsBetween(one, lost), 'Connection lost')
  t.equal(newsBetween(lost, one), 'Connected again')
  t.equal(newsBetween(one, one), '')
  const failed = state({ servers: servers([server({ state: 'failed' }), server({ name: 'new' })]) })
  t.equal(newsBetween(one, failed), 'github has failed')
  t.equal(
    newsBetween(failed, state({ servers: servers([{ name: 'github', state: 'disabled', where: 'here' }]) })),
    'github is disabled',
  )
})
