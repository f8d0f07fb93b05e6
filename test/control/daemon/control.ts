import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { type Controlled, openControl } from '../../../src/control/daemon/control.js'
import { asking, occupantOf } from '../../../src/control/daemon/daemon-lock.js'
import { lateModule } from '../../../src/kernel/late-module.js'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../../../src/kernel/limits.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { IDENTITY } from '../../../src/kernel/machine/identity.js'
import { askDaemon, askToConnect, bodyOf, follow } from '../../../src/shim/ask.js'
import { decodeWelcome, encodeHello, HELLO_HEADER, LINES_PROTOCOL } from '../../../src/shim/hello.js'
import type { RuntimePaths } from '../../../src/shim/place.js'
import { KeptLines } from '../../../src/telemetry/logs/kept-lines.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { until } from '../../support/processes.js'
import { newPlace } from '../../support/proxy/place.js'

const line = (level: number, time: number, more: object = {}): string =>
  `${JSON.stringify({ level, time, msg: 'x', ...more })}\n`

/** Request options of a program other than the proxy itself. */
const otherProgram = (place: Pick<RuntimePaths, 'socket' | 'token'>) => {
  const { hello, ...options } = asking(place)
  return { ...options, hello: { ...hello, pid: hello.pid + 1 } }
}

/** The private socket of a proxy that notes what it is told to do. */
const setUp = async (
  t: Test,
  more: Partial<Controlled> = {},
  limits: Partial<Limits> = {},
  place: RuntimePaths = newPlace(t),
) => {
  const did: unknown[] = []
  const served: string[] = []
  const lines = new KeptLines()
  const sink = lines.over({ write: () => undefined })
  const clock = new FakeClock()
  const bounds = new LimitCounters({ limits: { ...DEFAULT_LIMITS, ...limits } })
  const control = await openControl(place, {
    sessions: {
      ...{ all: [], newId: () => 'k1', close: async () => undefined },
      get size() {
        return served.length
      },
      serve: (id: string, channel: { close(): Promise<void> }) => {
        served.push(id)
        t.teardown(() => channel.close())
      },
    } as unknown as Controlled['sessions'],
    refusal: 'word',
    api: () => Promise.resolve({ answer: () => Promise.resolve(undefined) }),
    ...{ metrics: undefined, newPageCode: () => 'a-code' },
    status: () =>
      ({ pid: process.pid, version: '1.0.0', calls: 3 }) as unknown as ReturnType<Controlled['status']>,
    isDraining: () => false,
    views: { has: () => false, names: [] },
    end: code => did.push(code),
    reload: async () => void did.push('reload'),
    ...{ lines, file: '/etc/mcp.json', kept: undefined, isService: false },
    ...{ bounds, clock, log: silentLogger },
    ...more,
  })
  t.teardown(() => control.close())
  const get = async (target: string, body?: string) => {
    const reply = await askDaemon(otherProgram(place), target, body)
    return { status: reply.status, value: JSON.parse(reply.body || '{}') }
  }
  return { place, control, did, served, sink, clock, get }
}

t.test('the private socket reports the status of the proxy, and accepts its user’s commands', async t => {
  const { get, did, place, control } = await setUp(t, { kept: 'keep' })
  t.match(await get('/v1/status'), { status: 200, value: { pid: process.pid, kept: 'keep' } })
  t.match(await get('/v1/sessions'), { status: 200, value: { version: 1, sessions: [] } })
  t.match(await get('/v1/reload', '{}'), { status: 200 })
  t.match(await get('/v1/stop', '{}'), { status: 200, value: { calls: 3 } })
  t.match(await get('/v1/hand-over', '{}'), { status: 200 })
  t.same(did, ['reload', 0, 0])
  for (const path of ['/v2/status', '/xx/servers', '/v10/status', '/v1', '/status'])
    t.match(await get(path), { status: 404, value: { error: `not found: GET ${path}` } })
  t.match(await get('/v1/stop'), { status: 404, value: { error: 'not found: GET /v1/stop' } })
  t.match(JSON.parse(readFileSync(place.facts, 'utf8')), { pid: process.pid, config: '/etc/mcp.json' })
  await control.close()
  t.notOk(existsSync(place.facts))
})

t.test('a proxy whose files were replaced makes room once it is idle', async t => {
  const file = join(t.testdir({ 'main.js': 'old' }), 'main.js')
  let calls = 1
  const { did, clock, place } = await setUp(t, {
    ownFile: pathToFileURL(file),
    status: () => ({ pid: process.pid, calls }) as unknown as ReturnType<Controlled['status']>,
  })
  const hello = async () => {
    const { stream } = await askToConnect(asking(place))
    stream.destroy()
  }
  await hello()
  calls = 0
  clock.advance(60_000)
  t.same(did, [], 'they are as they were')
  rmSync(file)
  await hello()
  clock.advance(60_000)
  t.same(did, [], 'nothing is there that could take over')
  writeFileSync(file, 'another')
  calls = 1
  await hello()
  clock.advance(60_000)
  t.same(did, [], 'a call is under way')
  calls = 0
  clock.advance(4000)
  t.same(did, [], 'and another may come')
  await hello()
  clock.advance(4000)
  t.same(did, [0], 'once')
})

t.test('a proxy that misses a part of its own makes room at once, unless a person started it', async t => {
  const part = lateModule(() => Promise.reject(new Error('gone')))
  for (const { kept, lost, ended } of [
    { kept: undefined, lost: { refusal: 'word' }, ended: [0] },
    { kept: 'serve', lost: undefined, ended: [] },
  ]) {
    const file = join(t.testdirName, kept ?? 'auto')
    const { did, control } = await setUp(t, { kept, ownFile: pathToFileURL(file) })
    t.match(await part().catch((thrown: unknown) => thrown), { code: 'unavailable', data: undefined })
    t.same(did, [], 'nobody would have that part')
    mkdirSync(t.testdirName, { recursive: true })
    writeFileSync(file, 'new')
    t.match(await part().catch((thrown: unknown) => thrown), { code: 'unavailable', data: lost })
    t.same(did, ended)
    await control.close()
  }
})

t.test('a supervisor restarts the service after its exit code', async t => {
  const { get, did } = await setUp(t, { isService: true })
  await get('/v1/hand-over', '{}')
  t.same(did, [75])
})

t.test('a request that is bad or fails is answered, and nothing ends', async t => {
  const { get } = await setUp(t, {
    reload: undefined,
    status: () => {
      throw new Error('broken')
    },
  })
  t.match(await get('/v1/reload', '{}'), { status: 400, value: { error: /without a configuration file/ } })
  t.match(await get('/v1/stop', 'x'.repeat(65 * 1024)), { status: 413, value: { error: /65536 bytes/ } })
  const failed = await get('/v1/status')
  t.equal(failed.status, 500)
  t.notMatch(failed.value.error, /broken/)
})

t.test('a proxy that looks whether it is found at its place works out nothing for that', async t => {
  const { place } = await setUp(t, {
    status: () => {
      throw new Error('long work')
    },
  })
  t.match(await occupantOf(place), { pid: process.pid, version: IDENTITY.version })
})

t.test('the last lines of the log are available on request, and so are later ones', async t => {
  const { place, sink } = await setUp(t)
  sink.write(line(30, 1000, { server: 'a' }))
  sink.write(line(50, 2000, { server: 'b' }))
  sink.write('last words of Node\n')
  const messages = async (query: string) =>
    (await askDaemon(asking(place), `/v1/logs${query}`)).body.split('\n').length - 1
  t.equal(await messages(''), 3)
  t.equal(await messages('?server=a'), 1)
  t.equal(await messages('?level=error'), 2)
  t.equal(await messages('?since=1500'), 1)
  const following = await follow(asking(place), '/v1/logs?follow&server=b')
  let heard = ''
  following.stream.on('data', chunk => {
    heard += String(chunk)
  })
  following.stream.resume()
  await until(() => heard.includes('2000'), 'what is kept')
  sink.write(line(30, 3000, { server: 'a' }))
  sink.write(line(30, 4000, { server: 'b' }))
  await until(() => heard.includes('4000'), 'what follows')
  t.notMatch(heard, /1000|3000/)
  following.stream.destroy()
})

t.test('as many follow the log as may, and who does not read is cut off', async t => {
  const { place, sink } = await setUp(t, {}, { clientQueue: 1000 })
  const open = () => follow(asking(place), '/v1/logs?follow')
  const followers = await Promise.all(Array.from({ length: 8 }, open))
  const ninth = await open()
  t.equal(await bodyOf(ninth.stream), '', 'ends at once')
  const [first, ...others] = followers
  let isClosed = false
  first?.stream.once('end', () => {
    isClosed = true
  })
  for (const { stream } of others) stream.destroy()
  first?.stream.pause()
  for (let at = 0; at < 200; at += 1) sink.write(line(30, at, { text: 'x'.repeat(64 * 1024) }))
  await settled()
  first?.stream.resume()
  await until(() => isClosed, 'the end of who did not read')
  t.ok(isClosed)
})

const HELLO = { version: '1.0.0', pid: 1 }

t.test('a client is served, or told why not', async t => {
  const answer = async (more: Partial<Controlled>, limits: Partial<Limits> = {}, hello = {}) => {
    const { place, served } = await setUp(t, more, limits)
    const opened = await askToConnect({ ...asking(place), hello: { ...HELLO, ...hello } })
    t.teardown(() => opened.stream.destroy())
    if (opened.status === 101) return { served, ...decodeWelcome(opened.headers.get(HELLO_HEADER)) }
    return { status: opened.status, ...JSON.parse(await bodyOf(opened.stream)) }
  }
  t.match(await answer({}), { served: ['k1'], pid: process.pid, session: 'k1', refusal: 'word' })
  t.match(await answer({}, {}, { view: 'v' }), { status: 404, no: 'view', say: 'there is no view v' })
  t.match(await answer({ isDraining: () => true }), { status: 503, no: 'draining', retryMs: 200 })
  t.match(await answer({}, { sessions: 0 }), { status: 503, no: 'busy', retryMs: 1000 })
})

t.test('an invalid hello is refused', async t => {
  const { place } = await setUp(t)
  const raw = async (head: string): Promise<string> => {
    const stream = connect(place.socket)
    stream.write(`${head}\r\nhost: localhost\r\nconnection: upgrade\r\n\r\n`)
    return await bodyOf(stream)
  }
  const hello = `${HELLO_HEADER}: ${encodeHello(HELLO)}`
  for (const head of [
    `GET /v1/connect HTTP/1.1\r\nupgrade: ${LINES_PROTOCOL}`,
    `GET /v1/connect HTTP/1.1\r\nupgrade: websocket\r\n${hello}`,
    `GET /other HTTP/1.1\r\nupgrade: ${LINES_PROTOCOL}\r\n${hello}`,
  ]) {
    t.match(await raw(head), /^HTTP\/1\.1 400 Refused[\s\S]*not from mcp-proxy connect/, head)
  }
  t.equal(await raw('no HTTP'), '', 'nothing is said to what is none')
})

/** Ways in which a proxy is kept, and the codes with which it ends. */
const KEPT = [
  [undefined, false, 0],
  ['systemd', true, 75],
] as const

t.test('a proxy whose socket was removed ends, for the next one to make it again', async t => {
  for (const [kept, isService, code] of KEPT)
    await t.test(kept ?? 'by need', async t => {
      const { place, did, clock } = await setUp(t, { kept, isService })
      clock.advance(250)
      await until(async () => (await occupantOf(place))?.pid === process.pid, 'an answer')
      t.same(did, [], 'it is still there')
      rmSync(place.socket)
      clock.advance(5000)
      await until(() => did.length > 0, 'the end')
      clock.advance(5000)
      await settled()
      t.same(did, [code], 'once')
    })
})

t.test('one that a person started stays without its socket, and leaves its place to another', async t => {
  const warned: string[] = []
  const log = { ...silentLogger, warn: (_facts: object, words: string) => warned.push(words) }
  const { place, did, clock } = await setUp(t, { kept: 'serve', log })
  rmSync(place.socket)
  for (let looks = 0; looks < 2; looks++) {
    clock.advance(5000)
    await until(() => warned.length > 0, 'a word')
    await settled()
  }
  t.same([did, warned.length], [[], 1], 'it says so once')
  const other = createServer((_request, response) => response.end('{"pid":1,"version":"1.0.0"}'))
  other.listen(place.socket)
  t.teardown(() => other.close())
  await once(other, 'listening')
  clock.advance(5000)
  await until(() => did.length > 0, 'the end')
  t.same(did, [0])
})

t.test('a proxy with a place of its own creates the token there, and removes it at its end', async t => {
  const place = newPlace(t)
  const own = { ...place, token: join(dirname(place.facts), 'own.token') }
  const { control } = await setUp(t, { file: undefined }, {}, own)
  const { status } = await askDaemon(otherProgram(own), '/v1/status')
  t.equal(status, 200)
  t.equal((await askDaemon(otherProgram({ ...own, token: undefined }), '/v1/status')).status, 400)
  await control.close()
  t.notOk(existsSync(own.token))
})

t.test('a request whose target is not a path is answered, after the check of the token', async t => {
  const { place } = await setUp(t)
  const { hello } = asking(place)
  const send = async (target: string, more = ''): Promise<string> => {
    const socket = connect(place.socket)
    t.teardown(() => socket.destroy())
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${more}\r\n`)
    let text = ''
    for await (const chunk of socket) text += String(chunk)
    return text
  }
  const proof = `${HELLO_HEADER}: ${encodeHello(hello)}\r\n`
  for (const target of ['//', '///', '//x:y/v1/status', 'http://', '*'])
    t.match(await send(target, proof), /^HTTP\/1\.1 400 /, target)
  t.match(await send('/v1/nothing', proof), /^HTTP\/1\.1 404 /)
})
