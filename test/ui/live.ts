import t, { type Test } from 'tap'
import { createReader, type StreamEvent } from '../../src/ui/live/events.js'
import { Live, retryMs } from '../../src/ui/live/live.js'
import { changesBetween } from '../../src/ui/live/news.js'
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

/** Replaces the parts of the browser that a stream uses. Returns the requested paths and the open streams. */
const streams = (t: Test) => {
  const paths: string[] = []
  const open: ReadableStreamDefaultController<Uint8Array>[] = []
  const fetch = (path: string, { signal }: { readonly signal: AbortSignal }): Promise<Response> => {
    paths.push(path)
    const start = (stream: ReadableStreamDefaultController<Uint8Array>): void => {
      open.push(stream)
      signal.addEventListener('abort', () => stream.error(signal.reason))
    }
    return Promise.resolve(new Response(new ReadableStream({ start })))
  }
  let onVisibility: (() => void) | undefined
  const document = {
    hidden: false,
    addEventListener: (_: string, listener: () => void) => {
      onVisibility = listener
    },
  }
  const fakes = { document, fetch, sessionStorage: {}, setInterval: () => 0 }
  for (const [name, value] of Object.entries(fakes)) {
    const old = Object.getOwnPropertyDescriptor(globalThis, name)
    t.teardown(() => {
      if (old === undefined) Reflect.deleteProperty(globalThis, name)
      else Object.defineProperty(globalThis, name, old)
    })
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  // Runs before the parts of the browser are gone.
  t.teardown(() => {
    document.hidden = true
    onVisibility?.()
  })
  return { paths, open }
}

t.test('a view that is opened before the first event gets its data', async t => {
  const { paths, open } = streams(t)
  const live = new Live()
  await live.begin(undefined, 'status,servers')
  live.show('status,servers,clients')
  t.same(paths, ['../api/v1/events?view=status,servers', '../api/v1/events?view=status,servers,clients'])
  live.show('status,servers,clients')
  t.equal(paths.length, 2, 'the same view needs no other stream')
  const isLive = new Promise<void>(resolve => {
    live.onChange = () => {
      if (live.state.clients !== undefined) resolve()
    }
  })
  while (open.length < 2) await new Promise(resolve => setImmediate(resolve))
  open[1]?.enqueue(Buffer.from('event: clients\ndata: {"clients":[]}\n\n'))
  await isLive
  t.match(live.state, { link: { is: 'live' }, clients: { clients: [] } })
  live.show('status,servers')
  t.equal(paths.length, 3, 'and so does one that is opened later')
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
  t.equal(changesBetween(one, lost), 'Connection lost')
  t.equal(changesBetween(lost, one), 'Connected again')
  t.equal(changesBetween(one, one), '')
  const failed = state({ servers: servers([server({ state: 'failed' }), server({ name: 'new' })]) })
  t.equal(changesBetween(one, failed), 'github has failed')
  t.equal(
    changesBetween(
      failed,
      state({ servers: servers([{ name: 'github', state: 'disabled', where: 'here' }]) }),
    ),
    'github is disabled',
  )
})
