import { appendFileSync, chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createHttpListener } from '../../src/eras/listen/http-listener.js'
import { rawText } from '../../src/kernel/json/text.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { succeeded } from '../../src/model/outcome.js'
import { SealedSessions } from '../../src/state/sealed-sessions.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { isWindows } from '../support/processes.js'
import { FakeHandler } from '../support/proxy/listeners.js'
import { boundsOf, IDENTITY } from '../support/values.js'
import { FakeResponder, httpRequest } from '../support/wire/fake-http.js'

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const DAY_MS = 24 * 3600_000
const PARAMS = {
  protocolVersion: '2025-11-25',
  capabilities: { roots: { listChanged: true }, elicitation: { url: {} } },
  clientInfo: { name: 'claude-code', version: '2.1.0', title: 'Grüße' },
}
const KEYS = [1, 2].map(n => Buffer.alloc(32, n).toString('base64'))

interface ProcessOptions {
  readonly dir: string
  readonly nowMs?: () => number
  readonly configured?: readonly string[]
  readonly limits?: Parameters<typeof boundsOf>[0]
}

/** Starts the endpoint as a process of the proxy would. */
const startProcess = ({ dir, nowMs, configured = [], limits = {} }: ProcessOptions) => {
  const handler = new FakeHandler()
  handler.onCall = call => call.end(succeeded(rawText('{}')))
  const clock = new FakeClock()
  const lines: unknown[][] = []
  const log = { ...silentLogger, warn: (...line: unknown[]) => lines.push(line) }
  const seals = new SealedSessions({ configured, dir, log, ...(nowMs && { nowMs }) })
  const host = createHttpListener({
    ...{ handler, clock, identity: IDENTITY, log: silentLogger, seals },
    bounds: boundsOf(limits),
  })
  const send = (
    method: string,
    {
      id,
      body = '',
      from,
      view,
      last,
    }: { id?: string; body?: object | string; from?: string; view?: string; last?: string } = {},
  ): FakeResponder => {
    const responder = new FakeResponder()
    const request = httpRequest(
      method,
      {
        ...HEADERS,
        ...(id !== undefined && { 'mcp-session-id': id }),
        ...(last !== undefined && { 'last-event-id': last }),
      },
      body,
      from,
    )
    host.handle({ ...request, caller: { ...request.caller, ...(view !== undefined && { view }) } }, responder)
    return responder
  }
  const begin = async (params: object = PARAMS, from?: string, view?: string): Promise<string> => {
    const answer = send('POST', {
      body: { id: 0, method: 'initialize', params },
      ...(from && { from }),
      ...(view && { view }),
    })
    await settled()
    const id = answer.headers['mcp-session-id'] ?? ''
    send('POST', { id, body: { method: 'notifications/initialized' } })
    return id
  }
  /** Lists the tools; returns the status. */
  const list = async (id: string, more: object = {}): Promise<number> => {
    const responder = send('POST', { id, body: { id: 7, method: 'tools/list' }, ...more })
    await settled()
    return responder.status
  }
  return { handler, clock, host, lines, send, begin, list }
}

const folder = (t: Test): string => join(t.testdir({}), 'state')

t.test('a client that does not initialize again continues its session at the next process', async t => {
  const dir = folder(t)
  const first = startProcess({ dir })
  const id = await first.begin()
  first.host.close()
  const next = startProcess({ dir })
  t.equal(await next.list(id), 200)
  t.match(next.handler.client, {
    ...{ principal: 'local', revision: '2025-11-25', view: undefined },
    capabilities: {
      roots: { listChanged: true },
      elicitation: { form: false, url: true },
      sampling: undefined,
    },
  })
  t.same(JSON.parse(next.handler.client.info.toString()), PARAMS.clientInfo)
  t.equal(next.handler.clients.length, 1)
  t.equal(await next.list(id), 200)
  t.equal(next.host.sessions, 1, 'a second request finds the live session')
  t.equal(next.send('POST', { id, body: { method: 'notifications/roots/list_changed' } }).status, 202)
  t.equal(
    next.send('POST', { id, body: { id: 'q', result: {} } }).status,
    202,
    'an answer to a lost question',
  )
  const standalone = next.send('GET', { id })
  t.match(
    standalone.messages.map(({ method }) => method),
    [
      'notifications/tools/list_changed',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
    ],
    'lists may have changed meanwhile',
  )
  t.same(
    [next.send('POST', { id, body: { id: 1, method: 'initialize', params: PARAMS } }).json.error?.code],
    [-32600],
  )
})

t.test('requests that arrive together at the next process share one session', async t => {
  const dir = folder(t)
  const id = await startProcess({ dir }).begin()
  const next = startProcess({ dir })
  const all = [1, 2, 3].map(n => next.send('POST', { id, body: { id: n, method: 'tools/list' } }))
  await settled()
  t.same(
    all.map(({ status }) => status),
    [200, 200, 200],
  )
  t.same([next.host.sessions, next.handler.clients.length, next.handler.calls.length], [1, 1, 3])
})

t.test('an id that was altered, cut or made elsewhere is unknown', async t => {
  const dir = folder(t)
  const id = await startProcess({ dir }).begin()
  const next = startProcess({ dir })
  for (let at = 0; at < id.length; at += 1) {
    const forged = id.slice(0, at) + (id[at] === 'A' ? 'B' : 'A') + id.slice(at + 1)
    t.equal(await next.list(forged), 404, `altered at ${at}`)
  }
  for (const other of ['', 'v1', 'v1..', id.slice(1), id.slice(0, -4), `${id}A`, `${id}.A`, 'x'.repeat(1025)])
    t.equal(await next.list(other), 404, other.slice(0, 20))
  const elsewhere = startProcess({ dir: join(t.testdirName, 'other') })
  t.equal(await elsewhere.list(id), 404, 'another state folder has another key')
  t.equal(next.host.sessions + elsewhere.host.sessions, 0)
  t.equal(await next.list(id), 200)
})

t.test('the id of another user or view is unknown, before and after its session is restored', async t => {
  const dir = folder(t)
  const first = startProcess({ dir })
  const id = await first.begin(PARAMS, '10.0.0.1', 'work')
  const next = startProcess({ dir })
  const others = [
    { from: '10.0.0.2', view: 'work' },
    { view: 'work' },
    { from: '10.0.0.1' },
    { from: '10.0.0.1', view: 'works' },
  ]
  for (const other of others) t.equal(await next.list(id, other), 404)
  t.equal(await next.list(id, { from: '10.0.0.1', view: 'work' }), 200)
  for (const other of others) {
    t.equal(await next.list(id, other), 404)
    t.equal(next.send('DELETE', { id, ...other }).status, 404)
    t.equal(next.send('GET', { id, ...other }).status, 404)
  }
  t.equal(await next.list(id, { from: '10.0.0.1', view: 'work' }), 200)
})

t.test('a session that its client ended stays ended', async t => {
  const dir = folder(t)
  const first = startProcess({ dir })
  const [ended, unrestored, kept] = [await first.begin(), await first.begin(), await first.begin()]
  t.equal(first.send('DELETE', { id: ended }).status, 200)
  t.equal(await first.list(ended), 404, 'here')
  const beside = startProcess({ dir })
  t.equal(await beside.list(ended), 404, 'at another process of the same user')
  t.equal(await first.list(unrestored), 200)
  t.equal(beside.send('DELETE', { id: unrestored }).status, 200, 'a session that was not restored')
  t.equal(beside.send('DELETE', { id: unrestored }).status, 404)
  const next = startProcess({ dir })
  for (const id of [ended, unrestored]) {
    t.equal(await next.list(id), 404, 'after a restart')
    t.equal(next.send('DELETE', { id }).status, 404)
  }
  t.equal(await next.list(kept), 200)
  t.equal(next.handler.clients.length, 1)
})

t.test('a session whose credential was revoked stays ended', async t => {
  const dir = folder(t)
  const first = startProcess({ dir })
  const id = await first.begin()
  first.host.renewCallers(() => undefined)
  t.equal(await first.list(id), 404)
  t.equal(await startProcess({ dir }).list(id), 404)
})

t.test('a session that a limit ended continues when its client comes back', async t => {
  const dir = folder(t)
  const process = startProcess({ dir, limits: { sessionIdle: 60_000 } })
  const id = await process.begin()
  process.clock.advance(120_000)
  t.equal(process.host.sessions, 0, 'it was idle for too long')
  t.equal(await process.list(id), 200)
  t.equal(process.handler.clients.length, 2)
})

t.test('a restored session counts like a new one', async t => {
  const dir = folder(t)
  const first = startProcess({ dir })
  const ids = [await first.begin(), await first.begin(), await first.begin()]
  const next = startProcess({ dir, limits: { sessionsPerPrincipal: 2 } })
  const statuses = []
  for (const id of ids) statuses.push(await next.list(id))
  t.same(statuses, [200, 200, 503])
  const refused = next.send('POST', { id: ids[2] ?? '', body: { id: 7, method: 'tools/list' } })
  t.match(refused.headers, { 'retry-after': '5' })
  t.match(refused.json.error, { data: { limit: 'sessionsPerPrincipal' } })
  t.equal(next.send('DELETE', { id: ids[0] ?? '' }).status, 200)
  t.equal(await next.list(ids[2] ?? ''), 200)
})

t.test('an id expires after 30 days, but not while its session lives', async t => {
  const dir = folder(t)
  let now = Date.UTC(2026, 10, 28)
  const nowMs = (): number => now
  const first = startProcess({ dir, nowMs })
  const id = await first.begin()
  now += 30 * DAY_MS - 1000
  t.equal(await startProcess({ dir, nowMs }).list(id), 200)
  now += 2000
  t.equal(await startProcess({ dir, nowMs }).list(id), 404)
  t.equal(await first.list(id), 200)
})

t.test('an id stays valid when its key is replaced by a newer one', async t => {
  const dir = folder(t)
  const [older = '', newer = ''] = KEYS
  const id = await startProcess({ dir, configured: [older] }).begin()
  t.equal(await startProcess({ dir, configured: [newer, older] }).list(id), 200)
  t.equal(await startProcess({ dir, configured: [newer] }).list(id), 404)
})

t.test('a client with a long description gets an id that ends with the process', async t => {
  const dir = folder(t)
  const first = startProcess({ dir })
  const long = { ...PARAMS, clientInfo: { ...PARAMS.clientInfo, description: 'x'.repeat(800) } }
  const id = await first.begin(long)
  t.equal(id.length, 22)
  t.equal(await first.list(id), 200)
  t.equal(first.send('DELETE', { id }).status, 200)
  t.equal(await startProcess({ dir }).list(id), 404)
  const longest = { ...PARAMS, clientInfo: { ...PARAMS.clientInfo, description: 'x'.repeat(450) } }
  t.ok((await first.begin(longest)).length <= 1024)
})

t.test('without a writable state folder, ids end with the process, and the log has the reason', async t => {
  const file = join(t.testdir({ file: '' }), 'file')
  const first = startProcess({ dir: join(file, 'state') })
  const [one, other] = [await first.begin(), await first.begin()]
  t.same([one.length, other.length], [22, 22])
  t.equal(await first.list(one), 200)
  t.match(first.lines, [
    [{ dir: join(file, 'state') }, /cannot keep a key for session ids: sessions will end/],
  ])
  t.equal(first.lines.length, 1)
  t.equal(first.send('DELETE', { id: one }).status, 200)
})

t.test('a client that resumes a stream of the killed process learns what was lost', async t => {
  const dir = folder(t)
  const first = startProcess({ dir })
  const id = await first.begin()
  first.handler.onCall = undefined
  const standalone = first.send('GET', { id })
  const call = first.send('POST', {
    id,
    body: { id: 'c1', method: 'tools/call', params: { name: 'x', _meta: { progressToken: 1 } } },
  })
  await settled()
  first.clock.advance(20)
  const [place, lost] = [standalone, call].map(({ allEvents }) => allEvents.at(-1)?.id ?? '')
  t.ok(place && lost)

  const next = startProcess({ dir })
  const answer = next.send('GET', { id, last: lost ?? '' })
  t.match(answer, { status: 200, isEnded: true })
  t.match(answer.messages, [
    { id: 'c1', error: { code: -32603, data: { reason: 'proxy_restarted', mayHaveRun: true } } },
  ])
  t.same(next.handler.calls, [], 'the call is not repeated')
  t.equal(next.send('GET', { id, last: answer.events.at(-1)?.id ?? '' }).status, 204, 'nothing follows')
  t.equal(next.send('GET', { id, last: '3.1' }).status, 204, 'an unknown stream has ended')
  const reopened = next.send('GET', { id, last: place ?? '' })
  t.match(reopened, { status: 200, isEnded: false })
  await settled()
  next.handler.client.notify('notifications/resources/updated', rawText('{"uri":"a:b"}'))
  t.match(reopened.messages.at(-1), { method: 'notifications/resources/updated' })
})

t.test('the list of ended sessions is bounded, and lines of others are ignored', async t => {
  const dir = folder(t)
  const first = startProcess({ dir })
  const [one, other] = [await first.begin(), await first.begin()]
  t.equal(first.send('DELETE', { id: one }).status, 200)
  const file = join(dir, 'ended-sessions')
  if (!isWindows) t.equal(statSync(file).mode & 0o777, 0o600)
  const line = readFileSync(file, 'utf8')
  t.match(line, /^\d+ [\w-]{22}\n$/)
  t.notMatch(line, one)
  appendFileSync(file, 'no list\n\0\n99999999999 short\n')
  t.equal(await startProcess({ dir }).list(one), 404)
  const untilS = Math.floor(Date.now() / 1000) + 1000
  const many = Array.from({ length: 19_900 }, (_, n) => `${untilS} ${String(n).padStart(22, '0')}\n`)
  writeFileSync(file, many.join(''), { mode: 0o600 })
  const full = startProcess({ dir })
  t.equal(full.send('DELETE', { id: other }).status, 200)
  for (let n = 0; n < 200; n += 1) full.send('DELETE', { id: await full.begin() })
  t.ok(statSync(file).size < 700_000)
  t.equal(await startProcess({ dir }).list(other), 404)
})

t.test('a list that others can write is neither read nor written', { skip: isWindows }, async t => {
  const dir = folder(t)
  mkdirSync(dir, { mode: 0o700 })
  const first = startProcess({ dir })
  const id = await first.begin()
  writeFileSync(join(dir, 'ended-sessions'), '')
  chmodSync(join(dir, 'ended-sessions'), 0o666)
  t.equal(first.send('DELETE', { id }).status, 200)
  t.equal(await first.list(id), 404, 'it has ended here at least')
  t.match(first.lines, [[{ file: join(dir, 'ended-sessions') }, /cannot record an ended session/]])
  t.equal(readFileSync(join(dir, 'ended-sessions'), 'utf8'), '')
})

t.test('a proxy that stops spreads the return of its clients, if their SDK reads that', async t => {
  for (const [protocolVersion, isTold] of [
    ['2025-11-25', true],
    ['2025-06-18', false],
  ] as const) {
    const process = startProcess({ dir: folder(t) })
    const stream = process.send('GET', { id: await process.begin({ ...PARAMS, protocolVersion }) })
    const before = stream.body.length
    process.host.close()
    t.ok(stream.isEnded)
    t.match(stream.body.slice(before), isTold ? /^retry: \d+\n\n$/ : /^$/, protocolVersion)
  }
})
