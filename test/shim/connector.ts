import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Connector, NoDaemon } from '../../src/shim/connector.js'
import { encodeWelcome } from '../../src/shim/hello.js'
import type { RuntimePaths } from '../../src/shim/place.js'
import { socketFile, until } from '../support/processes.js'

const WELCOME = { version: '0.2.0', pid: process.pid, session: 'k1', want: [] }

/** A place where something answers each connection in its turn; the last answer is given again. */
const placeWith = async (t: Test, ...answers: readonly (string | undefined)[]) => {
  const dir = t.testdir()
  const file = (name: string): string => join(dir, name)
  const place: RuntimePaths = {
    id: 'id',
    socket: socketFile(t),
    lock: file('id.lock'),
    facts: file('id.json'),
    log: file('id.log'),
    token: undefined,
  }
  const heard: string[] = []
  const server: Server = createServer(socket => {
    socket.on('error', () => undefined)
    socket.once('data', chunk => {
      heard.push(String(chunk).split('\r\n', 1).join())
      const answer = answers[Math.min(heard.length, answers.length) - 1]
      if (answer === undefined) socket.destroy()
      else socket.end(answer)
    })
  })
  server.listen(place.socket)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { place, heard }
}

const welcome = (more: object = {}): string =>
  `HTTP/1.1 101 Switching Protocols\r\nmcp-proxy-hello: ${encodeWelcome({ ...WELCOME, ...more })}\r\n\r\n`
const refusal = (no: string): string =>
  `HTTP/1.1 503 Refused\r\n\r\n${JSON.stringify({ no, say: 'so it is', retryMs: 10 })}`

const connectorAt = (place: RuntimePaths, told: string[] = []) =>
  new Connector({
    place,
    hello: { version: '0.2.0', pid: process.pid },
    tell: words => told.push(words),
    program: { execPath: '/nowhere/node', script: '', config: '', home: '/', env: {} },
  })

t.test('a daemon that is stopping is waited for, with or without notice', async t => {
  const { place, heard } = await placeWith(
    t,
    refusal('draining'),
    undefined,
    refusal('busy'),
    undefined,
    welcome(),
  )
  const { stream, welcome: found } = await connectorAt(place).connect(5000)
  stream.destroy()
  t.match(found, WELCOME)
  t.equal(heard.length, 5)
})

t.test('what answers in other ways is told by its number', async t => {
  const rows: readonly (readonly [answer: string | undefined, code: string, says: RegExp])[] = [
    [undefined, 'D042', /takes connections and hangs up/],
    [refusal('token'), 'D046', /the daemon refuses: so it is/],
    [refusal('busy'), 'D041', /the daemon refuses: so it is/],
    ['HTTP/1.1 101 Switching Protocols\r\n\r\n', 'D046', /is not mcp-proxy/],
    ['SSH-2.0\r\n\r\n', 'D046', /may not be reached: the program that answers is not mcp-proxy/],
  ]
  for (const [answer, code, says] of rows) {
    const { place } = await placeWith(t, answer)
    const refused = connectorAt(place).connect(150)
    await t.rejects(refused, { name: 'NoDaemon', code, message: says })
  }
})

t.test('when no daemon answers or starts, the shim reports it', async t => {
  const { place } = await placeWith(t)
  await t.rejects(connectorAt({ ...place, socket: `${place.socket}x` }).connect(2000), NoDaemon)
})

t.test('an older daemon is asked to make room once, by one shim at a time', async t => {
  const told: string[] = []
  const { place, heard } = await placeWith(
    t,
    welcome({ version: '0.1.0' }),
    'HTTP/1.1 200 OK\r\n\r\n{}',
    welcome(),
  )
  const { stream } = await connectorAt(place, told).connect(5000)
  stream.destroy()
  t.same(heard, ['GET /v1/connect HTTP/1.1', 'POST /v1/hand-over HTTP/1.1', 'GET /v1/connect HTTP/1.1'])
  const other = await placeWith(t, welcome({ version: '0.1.0', pid: 1 }), welcome())
  writeFileSync(
    other.place.lock,
    JSON.stringify({ pid: process.pid, time: Date.now(), key: 'of somebody else' }),
  )
  const served = await connectorAt(other.place).connect(5000)
  served.stream.destroy()
  t.notMatch(other.heard.join(), 'hand-over', 'somebody else is about to ask')
  t.same(told, [])
})

t.test('a person who keeps an older daemon is left in peace', async t => {
  const told: string[] = []
  const { place, heard } = await placeWith(t, welcome({ version: '0.1.0', kept: 'serve' }))
  const { stream } = await connectorAt(place, told).connect(5000)
  stream.destroy()
  t.same(told, ['D043: served by mcp-proxy 0.1.0, which is older than 0.2.0; fix: restart it'])
  await until(() => heard.length === 1, 'no more')
})
