import t from 'tap'
import type { ProblemId } from '../../src/diagnostics/causes.js'
import { createReader, type StreamEvent } from '../../src/ui/live/events.js'
import { retryMs } from '../../src/ui/live/live.js'
import { newsBetween } from '../../src/ui/live/news.js'
import { codeIn, hrefOf, parseRoute, routePartsOf } from '../../src/ui/live/route.js'
import { afterEvent, NOTHING, type ServerRow } from '../../src/ui/live/state.js'
import { troubles } from '../../src/ui/live/troubles.js'
import { call, server, servers, state, status } from './facts.js'

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

const remark = (kind: ServerRow['remarks'][number]['kind']) => ({
  remarks: [{ kind, message: 'did it', agoMs: 0 }],
})

t.test('each way in which a server can be wrong has its word and its command', async t => {
  const rows: readonly (readonly [Partial<ServerRow>, kind: string, command: string])[] = [
    [
      { state: 'failed', why: 'could not be started: command not found (ENOENT): check "command"' },
      'not found',
      'mcp-proxy doctor --server github',
    ],
    [{ state: 'backoff', why: 'exited with code 3' }, 'exited', 'mcp-proxy logs github'],
    [{ state: 'failed', why: 'No answer to initialize within 5 s' }, 'hangs', 'mcp-proxy logs github'],
    [{ state: 'starting', ...remark('hangs') }, 'hangs', 'mcp-proxy logs github'],
    [{ state: 'needs-auth', why: undefined }, 'needs-auth', 'mcp-proxy auth login github'],
    [{ state: 'backoff', why: 'HTTP 404 Not Found' }, 'HTTP 404', 'mcp-proxy doctor --server github'],
    [{ state: 'backoff', why: 'fetch failed' }, 'unreachable', 'mcp-proxy doctor --server github'],
    [remark('noise'), 'noise', 'mcp-proxy logs github'],
    [remark('slow'), 'slow', 'mcp-proxy why github'],
    [remark('flapping'), 'flapping', 'mcp-proxy logs github'],
    [remark('limit'), 'limit', 'mcp-proxy why github'],
    [{ state: 'waiting', why: 'D020: not set: X' }, 'waiting', 'mcp-proxy status --env'],
    [{ state: 'waiting', why: 'D033: no folder' }, 'waiting', 'mcp-proxy connect --workspace DIR'],
    [
      { state: 'starting', failures: 2, lastError: { message: 'exited with code 3', agoMs: 1 } },
      'exited',
      'mcp-proxy logs github',
    ],
  ]
  for (const [more, kind, command] of rows)
    t.match(troubles(status(), servers([server(more)])), [{ about: 'github', kind, command }], kind)
  for (const fine of ['ready', 'idle', 'draining', 'starting'] as const)
    t.same(troubles(status(), servers([server({ state: fine })])), [], fine)
  t.match(troubles(undefined, servers([{ name: "it's", state: 'disabled', where: 'here' }])), [
    { kind: 'disabled', command: String.raw`mcp-proxy enable 'it'\''s'` },
  ])
  t.same(troubles(undefined, servers([{ name: 'a', state: 'disabled', where: 'file' }])), [], 'it is meant')
  const hangs = server({
    ...{ state: 'failed', failures: 2, why: 'No answer to initialize within 60 s' },
    remarks: [{ kind: 'hangs', message: 'has not answered for 65 s since its start', agoMs: 1 }],
  })
  t.match(troubles(status(), servers([hangs])), [{ level: 'bad', kind: 'hangs' }], 'the same is said once')
  t.equal(troubles(status(), servers([hangs])).length, 1)
})

t.test('problems of the file and the proxy are above minor ones', async t => {
  const problem = {
    ...{ id: 'D010' as ProblemId, severity: 'error' as const, file: 'mcp.json', line: 3, column: 5 },
    ...{ key: 'mcpServers.notes.command', message: 'must be a text', fix: 'Write one' },
  }
  const config = {
    ...{ file: 'mcp.json', generation: 1, loadedAt: '', problems: { errors: 1, warnings: 0 } },
    lastReload: { result: 'refused' as const, at: '', problems: [] },
  }
  const found = troubles(
    status({ state: 'draining', pressure: 3, config }),
    servers(
      [server(remark('noise'))],
      [problem, { ...problem, severity: 'warning', line: 0, key: 'limits.x' }],
    ),
  )
  t.match(found, [
    { kind: 'draining' },
    { kind: 'memory' },
    { kind: 'reload refused' },
    {
      about: 'notes',
      kind: 'misconfigured',
      words: /must be a text\. Write one \(mcp\.json:3:5\)/,
      command: 'mcp-proxy check',
    },
    { about: 'configuration', level: 'odd', words: /\(mcp\.json\)$/ },
    { kind: 'noise', level: 'odd' },
  ])
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
