import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { SESSION_LOST } from '../../src/model/failure.js'
import type { DownlinkListener } from '../../src/model/links.js'
import type { ConnectionListener } from '../../src/peers/connection.js'
import { Connection } from '../../src/peers/connection.js'
import { Server } from '../../src/peers/server.js'
import { shareOf } from '../../src/peers/sharing.js'
import { FakeClient } from '../support/client/fake-client.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { World } from '../support/proxy/router.js'
import { FakeServer, type Script } from '../support/server/fake-server.js'
import { tool } from '../support/values.js'

const nobody = new World({}).router

/** A connection to a scripted server, and what it reported. */
const create = (script: Script = {}) => {
  const server = new FakeServer('a', { tools: [], ...script })
  const clock = new FakeClock()
  const client = new FakeClient(nobody)
  const heard: string[] = []
  const listener: ConnectionListener = {
    ready: () => heard.push('ready'),
    lost: (_connection, why) => heard.push(`lost: ${why.message}`),
    joined: () => heard.push('joined'),
    parted: () => undefined,
    ended: () => undefined,
    serverRequested: (_connection, ask) => heard.push(`asked ${ask.method}`),
    serverNotified: (_connection, method) => heard.push(method),
    isKept: () => false,
  }
  const connection = new Connection(
    server.options,
    shareOf(server.options.sharing, client),
    client.serverRequests,
    {
      dial: (_name, greeting, ears, signal) => server.dial(greeting, ears, signal),
      listener,
      clock,
      log: silentLogger,
    },
  )
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settled()
  }
  return { server, clock, client, heard, connection, pass }
}

/** How an attempt to open ended. */
const opened = async (connection: Connection): Promise<string> => {
  try {
    await connection.open()
    return 'open'
  } catch (thrown) {
    const fault = Fault.from(thrown)
    return `${fault.code}: ${fault.message}`
  }
}

t.test('all who need a server at the same time share one start', async t => {
  const { server, connection, heard } = create()
  server.dialling = 'hang'
  const links = [connection.open(), connection.open(), connection.open()]
  t.equal(connection.link, undefined)
  server.admit()
  const [first, ...others] = await Promise.all(links)
  t.same(others, [first, first])
  t.equal(await connection.open(), first)
  t.equal(server.greetings.length, 1)
  t.same(heard, ['ready'])
})

t.test('a server that cannot be reached fails at once until it is time for the next try', async t => {
  const { server, connection, pass } = create()
  server.dialling = 'refuse'
  const words = 'unavailable: Server a is not reachable: connection refused'
  t.equal(await opened(connection), words)
  t.equal(await opened(connection), words)
  t.equal(server.greetings.length, 1)
  await pass(700)
  t.equal(await opened(connection), words)
  t.equal(server.greetings.length, 2, 'after the first wait of about 500 ms')
  await pass(700)
  t.equal(server.greetings.length, 2, 'nobody uses it, so it is not tried by itself')
  t.equal(await opened(connection), words)
  t.equal(server.greetings.length, 2, 'the second wait is longer')
  server.dialling = 'open'
  await pass(2000)
  t.equal(await opened(connection), 'open')
})

t.test(
  'a lost server reconnects at once the first time, then after growing delays, while a client uses it',
  async t => {
    const { server, connection, client, heard, pass } = create()
    connection.join(client)
    await connection.open()
    server.link.drop()
    t.equal(connection.link, undefined)
    await pass(1)
    t.same(heard, ['joined', 'ready', 'lost: the connection broke', 'ready'])
    server.link.drop()
    await pass(100)
    t.equal(server.links.length, 2)
    await pass(2000)
    t.equal(server.links.length, 3)
    server.dialling = 'refuse'
    server.link.drop()
    await pass(60_000)
    const tries = server.greetings.length
    await pass(40_000)
    t.equal(server.greetings.length, tries + 1, 'it is tried at least every half minute')
    connection.leave(client)
    await pass(40_000)
    await pass(40_000)
    t.equal(server.greetings.length, tries + 1, 'nobody uses it any more')
    connection.join(client)
    t.match(await opened(connection), /connection refused/)
    t.equal(server.greetings.length, tries + 2)
  },
)

t.test('a server that worked for a minute is fixed at once, however it began', async t => {
  const { server, connection, client, pass } = create()
  connection.join(client)
  server.dialling = 'refuse'
  await opened(connection)
  server.dialling = 'open'
  await pass(1000)
  t.equal(server.links.length, 1)
  await pass(60_000)
  server.link.drop()
  await pass(1)
  t.equal(server.links.length, 2)
})

t.test('sessions that a server loses follow each other at most once a second, and calls wait', async t => {
  const { server, connection, client, pass } = create()
  connection.join(client)
  await connection.open()
  connection.served()
  const lose = () =>
    server.link.drop(new Fault('disconnected', 'no session', { data: { reason: SESSION_LOST } }))
  await pass(400)
  lose()
  const waiting = [opened(connection), opened(connection)]
  await pass(599)
  t.equal(server.links.length, 1, 'not within a second of the last session')
  await pass(1)
  t.same(await Promise.all(waiting), ['open', 'open'])
  t.equal(server.links.length, 2)
  t.equal(server.greetings[1]?.lastLoss, 'no session')
  connection.served()
  await pass(1000)
  lose()
  await pass(1)
  t.equal(server.links.length, 3, 'at once after that')
})

t.test('a timer that fires a moment early does not stop a server from coming back', async t => {
  const { server, connection, client, clock } = create()
  connection.join(client)
  await connection.open()
  let ahead = 0
  const now = clock.nowMs.bind(clock)
  clock.nowMs = () => now() - ahead
  server.link.drop()
  ahead = 0.5
  clock.advance(1)
  await settled()
  t.equal(server.links.length, 2)
})

t.test('a server that is gone before we could use it is not taken for one that is there', async t => {
  const { server, connection, heard, pass } = create()
  const dial = server.dial.bind(server)
  server.dial = async (...args) => {
    const link = await dial(...args)
    server.link.drop(new Fault('disconnected', 'it crashed'))
    return link
  }
  t.equal(await opened(connection), 'unavailable: Server a is not reachable: it crashed')
  t.equal(connection.state.at, 'backoff')
  t.same(heard, ['lost: it crashed'])
  server.dial = dial
  await pass(1000)
  t.equal(await opened(connection), 'open')
})

t.test('what an earlier connection still has to say does not disturb the next', async t => {
  const { server, connection, client, heard, pass } = create()
  connection.join(client)
  const ears: DownlinkListener[] = []
  const dial = server.dial.bind(server)
  server.dial = (greeting, listener, signal) => {
    ears.push(listener)
    if (ears.length === 1) return Promise.reject(new Fault('timeout', 'no answer to initialize'))
    return dial(greeting, listener, signal)
  }
  t.match(await opened(connection), /^timeout: Server a is not reachable/)
  await pass(1000)
  t.ok(connection.link)
  heard.length = 0
  ears[0]?.closed(new Fault('disconnected', 'its process is gone at last'))
  ears[0]?.notified('notifications/late', undefined, undefined)
  t.ok(connection.link, 'the connection that works is kept')
  t.same(heard, [])
  ears[1]?.notified('notifications/now', undefined, undefined)
  t.same(heard, ['notifications/now'])
})

t.test('a server may ask before its start is over', async t => {
  const { server, connection, heard } = create()
  const dial = server.dial.bind(server)
  server.dial = async (...args) => {
    const link = await dial(...args)
    server.link.ask('roots/list')
    return link
  }
  await connection.open()
  t.same(heard, ['asked roots/list', 'ready'])
})

t.test('closing in the middle of a start calls it off, and nothing of it is left', async t => {
  const { server, connection, client, heard, pass, clock } = create()
  connection.join(client)
  server.dialling = 'hang'
  const attempt = opened(connection)
  await connection.close()
  t.match(await attempt, /^unavailable: Server a is not reachable/)
  await pass(60_000)
  t.equal(server.links.length, 0)
  t.match(await opened(connection), /it was stopped/)
  t.equal(server.greetings.length, 1)
  t.same(heard, ['joined'])
  t.equal(clock.pending, 0)
})

t.test('a start that ends although it was called off is undone', async t => {
  const { server, connection, heard } = create()
  let admit = (): void => undefined
  const dial = server.dial.bind(server)
  server.dial = async (greeting, ears) => {
    await new Promise<void>(resolve => {
      admit = resolve
    })
    return dial(greeting, ears, new AbortController().signal)
  }
  const attempt = opened(connection)
  await settled()
  const closing = connection.close()
  admit()
  await closing
  t.ok(server.link.isClosed)
  t.match(await attempt, /it was stopped/)
  t.same(heard, [])
})

t.test('a connection that was closed reports nothing more and refuses questions', async t => {
  const { server, connection, client, heard } = create()
  connection.join(client)
  await connection.open()
  const { link } = server
  heard.length = 0
  await connection.close()
  t.ok(link.isClosed)
  t.match(link.ask('roots/list').answered, { code: -32603 })
  link.notice('notifications/late')
  t.same(heard, [])
  t.equal(connection.state.at, 'idle')
})

t.test('a dialler that throws is a server that cannot be reached', async t => {
  const { server, connection, pass } = create()
  const dial = server.dial.bind(server)
  server.dial = () => {
    throw new Error('secret path')
  }
  t.equal(await opened(connection), 'unavailable: Server a is not reachable: Internal error in the proxy')
  server.dial = dial
  await pass(1000)
  t.equal(await opened(connection), 'open')
})

t.test('a server learns who its client is only where the connection is that client’s alone', async t => {
  for (const [sharing, isTold] of [
    ['session', true],
    ['principal', false],
    ['all', false],
  ] as const) {
    const { server, connection, client } = create({ options: { sharing } })
    connection.join(client)
    await connection.open()
    t.equal(server.greetings[0]?.clientInfo, isTold ? client.info : undefined, sharing)
  }
})

t.test('unused connections end after a while; never used ones as soon as others exist', async t => {
  const server = new FakeServer('a', { tools: [tool('x')], options: { sharing: 'session' } })
  const clock = new FakeClock()
  const nothing = {
    ready() {},
    lost() {},
    joined() {},
    parted() {},
    ended() {},
    serverRequested() {},
    serverNotified() {},
  }
  const silent: ConnectionListener = { ...nothing, isKept: () => false }
  const peer = new Server(server.options, 0, {
    dial: (_name, greeting, ears, signal) => server.dial(greeting, ears, signal),
    listener: silent,
    clock,
    log: silentLogger,
  })
  await peer.start()
  peer.sweep(clock.nowMs())
  t.equal([...peer.connections].length, 1, 'the only one stays for a while')

  const client = new FakeClient(nobody)
  const own = peer.connectionFor(client)
  t.equal(peer.connectionFor(client), own)
  await own.open()
  t.equal(await peer.start(), server.links[0])
  peer.sweep(clock.nowMs())
  t.same([...peer.connections], [own])
  t.equal(await peer.start(), own.link)

  const { link } = own
  peer.release(client)
  await settled()
  t.same([...peer.connections], [])
  t.ok((link as { isClosed?: boolean } | undefined)?.isClosed)

  await peer.start()
  clock.advance(15 * 60_000 + 1)
  peer.sweep(clock.nowMs())
  t.same([...peer.connections], [])

  await peer.close()
  t.throws(() => peer.connectionFor(client), { code: 'unavailable' })
  t.throws(() => peer.start(), { code: 'unavailable' })
})

t.test(
  'a shared connection outlives its clients for a quarter of an hour, an eager one for ever',
  async t => {
    for (const start of ['lazy', 'eager'] as const) {
      const world = new World({ a: { tools: [tool('x')], options: { start } } })
      const client = await world.client()
      client.leave()
      await world.pass(14 * 60_000)
      t.notOk(world.server('a').link.isClosed)
      await world.pass(2 * 60_000)
      t.equal(world.server('a').link.isClosed, start === 'lazy', start)
      await world.router.close()
    }
  },
)

t.test('a connection remembers since when it is in its state, and why it was last lost', async t => {
  const { server, connection, clock, pass } = create()
  const startMs = clock.nowMs()
  t.equal(connection.sinceMs, startMs)
  t.equal(connection.lastLoss, undefined)
  await pass(1000)
  server.dialling = 'refuse'
  await opened(connection)
  t.match(connection.lastLoss, { why: { message: 'connection refused' }, atMs: startMs + 1000 })
  t.equal(connection.sinceMs, startMs + 1000)
  server.dialling = 'open'
  await pass(2000)
  await opened(connection)
  await pass(500)
  t.equal(connection.sinceMs, startMs + 3000)
  t.equal(connection.lastLoss?.atMs, startMs + 1000, 'also when it works again')
})

// ── failing ──

/** What a caller is told. */
const refused = async (connection: Connection): Promise<Fault> => {
  try {
    await connection.open()
  } catch (thrown) {
    return Fault.from(thrown)
  }
  throw new Error('it was opened')
}

t.test('a server that is killed again and again while it serves comes back at once each time', async t => {
  const { server, connection, client, pass } = create()
  connection.join(client)
  await connection.open()
  for (let kill = 1; kill <= 50; kill += 1) {
    connection.served()
    server.link.drop(new Fault('disconnected', 'was killed by SIGKILL'))
    t.same(connection.state, {
      at: 'backoff',
      past: { failures: 0, recentMs: [], gaveUp: undefined },
      untilMs: 1_000_000 + (kill - 1) * 100,
      why: connection.lastLoss?.why,
    })
    await connection.open()
    await pass(100)
  }
  t.equal(server.links.length, 51)
})

t.test('errors to callers contain the retry time', async t => {
  const { server, connection, clock, pass } = create()
  server.dialling = 'refuse'
  const never = (await refused(connection)).data
  t.same(never, { server: 'a' }, 'nothing is promised of one that never was there')
  await pass(1000)
  server.dialling = 'open'
  await connection.open()
  server.link.drop(new Fault('disconnected', 'was killed by SIGKILL'))
  const first = await refused(connection)
  const { retryAfterMs } = first.data as { retryAfterMs: number }
  t.match(first.data, { server: 'a' })
  t.ok(retryAfterMs >= 800 && retryAfterMs <= 1200, String(retryAfterMs))
  await pass(300)
  t.same((await refused(connection)).data, { server: 'a', retryAfterMs: retryAfterMs - 300 })
  await pass(retryAfterMs - 300)
  server.dialling = 'open'
  await connection.open()
  t.equal(connection.retryAfterLossMs, 2000, 'if it were lost now, it would have failed three times')
  connection.served()
  t.equal(connection.retryAfterLossMs, 0)
  await connection.close()
  t.equal((await refused(connection)).data?.['retryAfterMs'], undefined)
  t.equal(clock.pending, 0)
})

const CRASH = new Fault('disconnected', 'exited with code 3', {
  data: { reason: 'server_exited' },
  stderrTail: ['one', 'two', 'three', 'four', 'five', 'six'],
})

/** A connection that failed five times in a row, with somebody who uses it. */
const crashed = async () => {
  const made = create()
  const { server, connection, client, pass } = made
  const dial = server.dial.bind(server)
  const fix = (): void => {
    server.dial = dial
  }
  server.dial = greeting => {
    server.greetings.push(greeting)
    return Promise.reject(CRASH)
  }
  connection.join(client)
  const first = await refused(connection)
  for (const waitMs of [600, 1200, 2400, 4800]) await pass(waitMs)
  return { ...made, fix, first }
}

t.test('a crash loop ends, with the reason and the last words of the program', async t => {
  const { server, connection, pass, first } = await crashed()
  t.match(first.data, { server: 'a', reason: 'server_exited', stderr: CRASH.stderrTail })
  t.equal(connection.state.at, 'failed')
  t.equal(server.greetings.length, 5)
  const fault = await refused(connection)
  t.equal(fault.code, 'unavailable')
  t.equal(
    fault.message,
    'Server a is not reachable: exited with code 3 (given up after 5 failures within 60 s; retried periodically ' +
      'and on the next call); it last wrote to stderr:\ntwo\nthree\nfour\nfive\nsix',
  )
  t.match(fault.data, { server: 'a', reason: 'server_failed', stderr: CRASH.stderrTail })
  t.equal(server.greetings.length, 5, 'nobody waits for another try')
  await pass(4000)
  await refused(connection)
  t.equal(server.greetings.length, 5, 'nor is there one so soon after the last')
})

t.test('a failed connection recovers by itself while a client uses it', async t => {
  const { server, connection, client, heard, pass, fix } = await crashed()
  await pass(60_000)
  t.equal(server.greetings.length, 6)
  t.equal(connection.state.at, 'failed', 'one more failure is enough')
  connection.leave(client)
  await pass(60_000)
  await pass(60_000)
  t.equal(server.greetings.length, 6)
  connection.join(client)
  fix()
  await pass(60_000)
  t.equal(connection.state.at, 'ready')
  t.same(heard.at(-1), 'ready')
  server.link.drop()
  t.equal(connection.state.at, 'failed', 'it has to serve somebody before it is trusted')
  await pass(60_000)
  connection.served()
  server.link.drop()
  await pass(1)
  t.equal(connection.state.at, 'ready')
})

t.test('a call to what has failed makes one try, and everybody else is answered at once', async t => {
  const { server, connection, pass, fix } = await crashed()
  await pass(5000)
  fix()
  server.dialling = 'hang'
  const waiting = opened(connection)
  await settled()
  for (let caller = 0; caller < 3; caller += 1) {
    const fault = await refused(connection)
    t.match(fault.data, { reason: 'server_starting', retryAfterMs: 1000, server: 'a' })
    t.match(fault.message, /exited with code 3 \(it is being tried again\)/)
  }
  t.equal(server.greetings.length, 6)
  server.admit()
  t.equal(await waiting, 'open')
  t.equal(await opened(connection), 'open', 'who comes now is served')
})

t.test('the stderr of a program that served one client is not shown to another', async t => {
  const { server, connection } = create()
  await connection.open()
  connection.served()
  server.link.drop(CRASH)
  t.same(connection.lastLoss?.why.stderrTail, CRASH.stderrTail, 'but the operator’s')
  server.dialling = 'refuse'
  const told = [await refused(connection), await refused(connection)]
  for (const { data, message, stderrTail } of told) {
    t.notMatch(JSON.stringify([data, stderrTail]), 'three')
    t.notMatch(message, /stderr/)
  }
})

// ── being retired ──

t.test('a retired connection accepts no more calls, and ends after the calls in flight', async t => {
  const { server, connection, heard, pass } = create()
  await connection.open()
  connection.inFlight += 1
  connection.inFlight += 1
  let isOver = false
  const draining = connection.drain(10_000).then(() => {
    isOver = true
  })
  await pass(1000)
  t.equal(connection.state.at, 'draining')
  t.equal(connection.link, undefined)
  t.match(connection.facts, { revision: '2025-11-25' }, 'what comes of the calls is still read right')
  t.match(await opened(connection), /^unavailable: Server a is not reachable: it was stopped$/)
  connection.callEnded()
  await pass(1000)
  t.notOk(server.link.isClosed)
  connection.callEnded()
  await draining
  t.ok(isOver)
  t.ok(server.link.isClosed)
  t.equal(connection.state.at, 'idle')
  t.same(heard, ['ready'])
})

t.test('calls that take too long do not keep a retired connection', async t => {
  const { server, connection, clock, pass } = create()
  await connection.open()
  connection.inFlight += 1
  const draining = connection.drain(10_000)
  await pass(9999)
  t.notOk(server.link.isClosed)
  await pass(1)
  await draining
  t.ok(server.link.isClosed)
  t.equal(clock.pending, 0)
})

t.test('a connection retired during its start still serves the waiting calls', async t => {
  const { server, connection, pass } = create()
  server.dialling = 'hang'
  connection.inFlight += 1
  const waiting = opened(connection)
  const draining = connection.drain(10_000)
  server.admit()
  t.equal(await waiting, 'open')
  t.equal(connection.state.at, 'draining')
  t.match(await opened(connection), /it was stopped/)
  connection.callEnded()
  await draining
  t.ok(server.link.isClosed)
  await pass(60_000)
  t.equal(server.greetings.length, 1)
})

t.test('a retired connection that is unused or broken ends at once', async t => {
  const unused = create()
  await unused.connection.open()
  await unused.connection.drain(10_000)
  t.ok(unused.server.link.isClosed)

  const broken = create()
  broken.connection.join(broken.client)
  await broken.connection.open()
  broken.connection.inFlight += 1
  const draining = broken.connection.drain(10_000)
  broken.server.link.drop()
  broken.connection.callEnded()
  await draining
  await broken.pass(60_000)
  t.equal(broken.server.greetings.length, 1, 'it does not come back')
  t.same(broken.heard, ['joined', 'ready', 'lost: the connection broke'])
})

t.test('a server that is retired finishes the calls of its clients and takes no more', async t => {
  const world = new World({ a: { tools: [tool('x')], options: { sharing: 'session' } } })
  const [one, two] = [await world.client(), await world.client()]
  const calls = [one, two].map(client => client.call('tools/call', { name: 'a__x' }))
  await settled()
  const draining = world.router.pool.servers[0]?.drain(10_000)
  await settled()
  t.match(await one.get('tools/call', { name: 'a__x' }), { code: -32603, message: /no longer served/ })
  for (const request of world.server('a').got('tools/call')) request.answer({ content: [], n: 1 })
  await draining
  t.match(
    calls.map(call => call.ended),
    [{ result: { n: 1 } }, { result: { n: 1 } }],
  )
  t.ok(world.server('a').links.every(link => link.isClosed))
  await world.router.close()
})
