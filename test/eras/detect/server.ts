import t from 'tap'
import { EraCache } from '../../../src/eras/detect/era-cache.js'
import { openServerHttp } from '../../../src/eras/detect/open-http.js'
import { openServerPipe } from '../../../src/eras/detect/open-pipe.js'
import type { ServerLinkOptions } from '../../../src/eras/detect/server.js'
import { Fault } from '../../../src/kernel/faults.js'
import type { ServerRequestMode } from '../../../src/model/links.js'
import type { Channel } from '../../../src/wire/channel.js'
import { envelope, MODERN } from '../../support/era/codec.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { linkOptions } from '../../support/proxy/links.js'
import { FarEnd, type Heard } from '../../support/wire/channel-pair.js'
import { type FakeExchange, FakeHttp } from '../../support/wire/fake-http.js'

const DISCOVERED = { resultType: 'complete', supportedVersions: [MODERN], capabilities: { tools: {} } }
const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'old', version: '1' },
}
const UNKNOWN = { code: -32601, message: 'Method not found' }
const unsupported = (...supported: string[]) => ({ code: -32022, message: 'no', data: { supported } })
const DAY_MS = 24 * 60 * 60_000

/** The end of an attempt: the revision, or the fault. */
const endOf = async (opening: Promise<{ facts: { revision: string } }>): Promise<string> => {
  try {
    return (await opening).facts.revision
  } catch (thrown) {
    const { code, message } = Fault.from(thrown)
    return `${code}: ${message}`
  }
}

const methods = (heard: readonly Heard[]): (string | undefined)[] => heard.map(({ method }) => method)

/** One server, started again for each channel and played by the test. */
const start = (given: Omit<Partial<ServerLinkOptions>, 'clock'> = {}) => {
  const clock = new FakeClock()
  const eraCache = new EraCache(clock)
  const servers: FarEnd[] = []
  /** Handles the messages that each new process receives. */
  let play: (end: FarEnd, message: Heard, index: number) => void = () => undefined
  let dies: Fault | undefined
  const connect = (): Promise<Channel> => {
    const end = new FarEnd()
    const index = servers.push(end) - 1
    end.onMessage = message => play(end, message, index)
    if (dies !== undefined) setImmediate(() => end.channel.break(dies))
    return Promise.resolve(end.channel)
  }
  const heard: string[] = []
  const open = (more: Omit<Partial<ServerLinkOptions>, 'clock'> = {}) =>
    openServerPipe(
      connect,
      linkOptions({
        clock,
        eraCache,
        listener: {
          requested: ask => heard.push(`asked ${ask.method}`),
          notified: method => heard.push(method),
          closed: why => heard.push(`closed ${why.code}`),
        },
        ...given,
        ...more,
      }),
    )
  const pass = async (ms: number): Promise<void> => {
    await settled()
    clock.advance(ms)
    await settled()
  }
  return {
    clock,
    eraCache,
    servers,
    heard,
    open,
    pass,
    plays: (how: typeof play) => {
      play = how
    },
    diesOf: (fault: Fault) => {
      dies = fault
    },
  }
}

/** A server of the older era that answers the question with this error. */
const old =
  (error: object = UNKNOWN) =>
  (end: FarEnd, { id, method }: Heard): void => {
    if (method === 'initialize') end.say({ id, result: INITIALIZED })
    else if (method === 'server/discover') end.say({ id, error })
  }

const modern = (end: FarEnd, { id, method }: Heard): void => {
  if (method === 'server/discover') end.say({ id, result: DISCOVERED })
}

/** The only process. */
const only = (servers: readonly FarEnd[]): FarEnd => {
  const [server, ...others] = servers
  if (server === undefined || others.length > 0) throw new Error(`${servers.length} processes`)
  return server
}

// ── pipes: the question ──

t.test(
  'the first bytes to an unknown server are one server/discover under a text of ours, and nothing else',
  async t => {
    const { servers, open, pass } = start()
    void open()
    await pass(9999)
    const [first, ...others] = only(servers).take()
    t.same(others, [])
    t.match(first, { jsonrpc: '2.0', id: /^probe-[\w-]{22}$/, method: 'server/discover' })
    t.same(first?.params, { _meta: envelope() })
  },
)

t.test('a server that answers is spoken to in its revision, on the same channel', async t => {
  const { servers, open, plays, heard } = start()
  plays(modern)
  const link = await open()
  t.match([link.facts.revision, link.serverRequests], [MODERN, 'returned'])
  const server = only(servers)
  server.take()
  link.call(
    { method: 'tools/list', params: undefined, wantsProgress: false },
    { progress: () => undefined, ended: () => undefined },
  )
  t.match(server.take(), [{ id: 1, method: 'tools/list', params: { _meta: envelope() } }])
  server.hangUp()
  t.same(heard, ['closed disconnected'])
})

t.test('every other answer means an older server, on the same channel', async t => {
  const errors = [
    UNKNOWN,
    { code: -32602, message: 'Invalid request parameters', data: '' },
    { code: -32600, message: 'no' },
    { code: -32000, message: 'no' },
    { code: 7, message: 'no' },
    unsupported('2025-11-25'),
    unsupported(),
  ]
  for (const error of errors) {
    const { servers, open, plays } = start()
    plays(old(error))
    const link = await open()
    t.match([link.facts.revision, link.serverRequests], ['2025-06-18', 'pushed'], JSON.stringify(error))
    t.same(methods(only(servers).take()), ['server/discover', 'initialize', 'notifications/initialized'])
  }
  for (const answer of ['{"result":{}}', '{"result":null}', '{"result":1,"error":{}}']) {
    const { open, plays } = start()
    plays((end, { id, method }) => {
      if (method === 'initialize') end.say({ id, result: INITIALIZED })
      else if (method === 'server/discover') end.say(`{"jsonrpc":"2.0","id":"${id}",${answer.slice(1)}`)
    })
    t.equal(await endOf(open()), '2025-06-18', answer)
  }
})

t.test('a version that a server names is tried once', async t => {
  const { servers, open, plays } = start()
  plays((end, { id, method }) => {
    if (method !== 'server/discover') return
    const isFirst = end.lines.length === 1
    end.say(isFirst ? { id, error: unsupported(MODERN) } : { id, result: DISCOVERED })
  })
  t.equal(await endOf(open()), MODERN)
  const ids = only(servers)
    .take()
    .map(({ id }) => id)
  t.equal(new Set(ids).size, 2)
  const newer = start()
  newer.plays((end, { id }) => end.say({ id, error: unsupported('2027-01-01') }))
  t.equal(
    await endOf(newer.open()),
    'unavailable: The server supports none of our protocol versions, only 2027-01-01',
  )
  t.ok(only(newer.servers).isClosed)
})

t.test('a silent server gets initialize after the probe timeout; the probe is not cancelled', async t => {
  const { servers, open, pass, heard } = start()
  const opening = open()
  await pass(10_000)
  const server = only(servers)
  const [probe, initialize] = server.take()
  t.match([probe?.method, initialize?.method], ['server/discover', 'initialize'])
  server.say({ id: probe?.id, result: DISCOVERED })
  server.say({ id: initialize?.id, result: INITIALIZED })
  const link = await opening
  t.equal(link.serverRequests, 'pushed', 'its late answer is nothing')
  t.same(methods(server.take()), ['notifications/initialized'])
  t.same(heard, [])
})

t.test('what a server asks before it is introduced is not left unanswered', async t => {
  const { servers, open, plays, heard } = start()
  plays((end, message) => {
    if (message.method === 'server/discover') {
      end.say({ id: 1, method: 'ping' })
      end.say({ id: 2, method: 'roots/list' })
      end.say({ method: 'notifications/message', params: {} })
    }
    old()(end, message)
  })
  await open()
  t.match(only(servers).take().slice(1, 3), [
    { id: 1, result: {} },
    { id: 2, error: { code: -32601 } },
  ])
  t.same(heard, [])
})

t.test('an attempt that is called off leaves nothing', async t => {
  const stop = new AbortController()
  const { servers, open, clock, heard } = start({ signal: stop.signal })
  const opening = open()
  await settled()
  stop.abort()
  t.match(await endOf(opening), /^cancelled/)
  t.ok(only(servers).isClosed)
  t.equal(clock.pending, 0)
  t.same(heard, [])
})

// ── pipes: servers that end at the question ──

t.test('a server that ends at the question is started once more, and only asked to initialize', async t => {
  for (const when of ['at once', 'after the answer', 'later'] as const) {
    const { servers, open, plays, heard, pass } = start()
    plays((end, message, index) => {
      const { id, method } = message
      if (index > 0) old()(end, message)
      else if (method === 'server/discover' && when === 'after the answer') end.say({ id, error: UNKNOWN })
      else if (method === 'server/discover' && when === 'at once') end.hangUp()
      else if (method === 'initialize') end.hangUp()
    })
    const opening = open()
    if (when === 'later') await pass(10_000)
    const link = await opening
    t.equal(link.serverRequests, 'pushed')
    t.equal(servers.length, 2, when)
    t.same(methods(servers[1]?.take() ?? []), ['initialize', 'notifications/initialized'])
    t.same(heard, [], 'the end of the first is not heard of')
    servers[1]?.hangUp()
    t.same(heard, ['closed disconnected'])
  }
})

t.test('a server that ends again has another reason', async t => {
  const { servers, open, plays } = start()
  plays(end => end.hangUp())
  t.match(await endOf(open()), /^disconnected/)
  t.equal(servers.length, 2)
  const refusing = start()
  refusing.plays((end, { id, method }) =>
    end.say({ id, error: method === 'initialize' ? { code: -32603, message: 'no key' } : UNKNOWN }),
  )
  t.equal(await endOf(refusing.open()), 'unavailable: The server refused to initialize: no key')
  t.equal(refusing.servers.length, 1)
  t.ok(only(refusing.servers).isClosed)
})

t.test('a program that cannot be started is not started twice', async t => {
  const { servers, open, diesOf } = start()
  diesOf(new Fault('unavailable', 'could not be started'))
  t.equal(await endOf(open()), 'unavailable: could not be started')
  t.equal(servers.length, 1)
})

// ── pipes: servers that are modern after all ──

t.test('a server that started too slowly for the question is modern after all', async t => {
  const refusals = [
    unsupported(MODERN),
    unsupported(),
    { ...UNKNOWN, data: { supported: ['2025-11-25', MODERN] } },
  ]
  for (const error of refusals) {
    const { servers, open, plays, pass } = start()
    let isReady = false
    plays((end, message) => {
      if (message.method === 'initialize') end.say({ id: message.id, error })
      else if (isReady) modern(end, message)
    })
    const opening = open()
    await settled()
    isReady = true
    await pass(10_000)
    const link = await opening
    t.equal(link.serverRequests, 'returned', JSON.stringify(error))
    t.same(methods(only(servers).take()), ['server/discover', 'initialize', 'server/discover'])
  }
})

t.test('a server that refuses everything is refused', async t => {
  const { servers, open, plays } = start()
  plays((end, { id, method }) =>
    end.say({ id, error: method === 'initialize' ? unsupported(MODERN) : UNKNOWN }),
  )
  t.equal(await endOf(open()), 'unavailable: The server rejects both initialize and server/discover')
  t.ok(only(servers).isClosed)
})

// ── pipes: servers of both eras ──

/** A server that speaks both, each to who wants it. */
const dual = (end: FarEnd, message: Heard): void => {
  if (message.method === 'initialize') old()(end, message)
  else modern(end, message)
}

t.test('a server of both eras is used in the era of its clients', async t => {
  const { servers, open, plays } = start()
  plays(dual)
  const ofOlder = await open({ serverRequests: 'pushed' })
  t.match(ofOlder, { serverRequests: 'pushed', hasOtherMode: true, facts: { revision: '2025-06-18' } })
  t.same(methods(only(servers).take()), ['server/discover', 'initialize', 'notifications/initialized'])
  const ofNewer = await open({ serverRequests: 'returned' })
  t.match(ofNewer, { serverRequests: 'returned', facts: { revision: MODERN } })
  t.same(methods(servers[1]?.take() ?? []), [], 'what it said of itself is known')
  t.match(await open({ serverRequests: 'pushed' }), { serverRequests: 'pushed', hasOtherMode: true })
  t.same(methods(servers[2]?.take() ?? []), ['initialize', 'notifications/initialized'])
})

t.test('a server that was asked by newer clients first may still speak the older era', async t => {
  const { servers, open, plays } = start()
  plays(dual)
  t.match(await open({ serverRequests: 'returned' }), { serverRequests: 'returned', hasOtherMode: true })
  t.match(await open({ serverRequests: 'pushed' }), { serverRequests: 'pushed', hasOtherMode: true })
  t.equal(servers.length, 2)
})

t.test('a server of one era is used in that era, and is remembered as such', async t => {
  const older = start()
  older.plays(old())
  for (const serverRequests of ['returned', 'pushed'] as const)
    t.match(await older.open({ serverRequests }), { serverRequests: 'pushed', hasOtherMode: false })
  const refusals: readonly object[] = [
    { error: unsupported(MODERN) },
    { error: UNKNOWN },
    { error: { code: -32602, message: 'no', data: { supported: [MODERN, '2027-01-01'] } } },
    { result: { ...INITIALIZED, protocolVersion: MODERN } },
    { result: {} },
  ]
  for (const refusal of refusals) {
    const newer = start()
    newer.plays((end, message) => {
      if (message.method === 'initialize') end.say({ id: message.id, ...refusal })
      else modern(end, message)
    })
    t.match(await newer.open({ serverRequests: 'pushed' }), {
      serverRequests: 'returned',
      hasOtherMode: false,
    })
    t.same(methods(only(newer.servers).take()), ['server/discover', 'initialize'], JSON.stringify(refusal))
    t.match(await newer.open({ serverRequests: 'pushed' }), {
      serverRequests: 'returned',
      hasOtherMode: false,
    })
    t.same(methods(newer.servers[1]?.take() ?? []), [], 'nor is it asked again')
    t.match(await newer.open({ serverRequests: 'returned' }), {
      serverRequests: 'returned',
      hasOtherMode: false,
    })
  }
})

t.test('a server that names an older revision in its refusal is offered that', async t => {
  const { servers, open, plays } = start()
  plays((end, message) => {
    const version = (message.params as { protocolVersion?: string } | undefined)?.protocolVersion
    if (message.method === 'initialize' && version === '2025-11-25')
      end.say({ id: message.id, error: unsupported(MODERN, '2025-06-18') })
    else dual(end, message)
  })
  t.match(await open({ serverRequests: 'pushed' }), { serverRequests: 'pushed' })
  t.same(methods(only(servers).take()).slice(1), ['initialize', 'initialize', 'notifications/initialized'])
})

t.test('a server that ends at initialize, or ignores it, is restarted in its own era', async t => {
  for (const how of ['ends', 'is silent'] as const) {
    const { servers, open, plays, pass, heard } = start()
    plays((end, message) => {
      if (message.method !== 'initialize') modern(end, message)
      else if (how === 'ends') end.hangUp()
    })
    const opening = open({ serverRequests: 'pushed' })
    await settled()
    if (how === 'is silent') await pass(10_000)
    t.match(await opening, { serverRequests: 'returned', hasOtherMode: false }, how)
    t.ok(servers[0]?.isClosed)
    t.same([servers.length, methods(servers[1]?.take() ?? []), heard], [2, [], []])
    servers[1]?.hangUp()
    t.same(heard, ['closed disconnected'])
  }
})

t.test('one that is called off while it is greeted leaves nothing', async t => {
  const stop = new AbortController()
  const { servers, open, plays } = start({ signal: stop.signal, serverRequests: 'pushed' })
  plays(modern)
  const opening = open()
  await settled()
  stop.abort()
  t.match(await endOf(opening), /^cancelled/)
  t.ok(only(servers).isClosed)
})

t.test('the configured era is spoken to all', async t => {
  for (const [era, serverRequests] of [
    ['modern', 'returned'],
    ['legacy', 'pushed'],
  ] as const) {
    for (const wanted of ['pushed', 'returned'] as const) {
      const { open, plays } = start({ era, serverRequests: wanted })
      plays(dual)
      t.match(await open(), { serverRequests, hasOtherMode: false }, `${era} for ${wanted}`)
    }
  }
})

// ── one era for sure ──

t.test('a server that is legacy for sure is not asked, and what it names does not change that', async t => {
  const { servers, open, plays } = start({ era: 'legacy' })
  plays(old())
  t.equal(await endOf(open()), '2025-06-18')
  t.same(methods(only(servers).take()), ['initialize', 'notifications/initialized'])
  const modernOne = start({ era: 'legacy', offer: '2025-03-26' })
  modernOne.plays((end, { id }) => end.say({ id, error: unsupported(MODERN) }))
  t.equal(await endOf(modernOne.open()), 'unavailable: The server refused to initialize: no')
  t.match(only(modernOne.servers).take(), [{ params: { protocolVersion: '2025-03-26' } }])
})

t.test('a server that is modern for sure never gets initialize, and has the time of a handshake', async t => {
  const { servers, open, plays } = start({ era: 'modern' })
  plays(old())
  t.match(await endOf(open()), /^unavailable: The server does not speak 2026-07-28, .*check "era"$/)
  t.same(methods(only(servers).take()), ['server/discover'])
  t.ok(only(servers).isClosed)
  const slow = start({ era: 'modern' })
  const opening = slow.open()
  await slow.pass(59_000)
  const [probe] = only(slow.servers).take()
  only(slow.servers).say({ id: probe?.id, result: DISCOVERED })
  t.equal(await endOf(opening), MODERN)
  const silent = start({ era: 'modern' })
  const waiting = endOf(silent.open())
  await silent.pass(60_000)
  t.match(await waiting, /does not speak 2026-07-28/)
  const ending = start({ era: 'modern' })
  ending.plays(end => end.hangUp())
  t.match(await endOf(ending.open()), /^disconnected/)
  t.equal(ending.servers.length, 1, 'it is not started again')
})

// ── what is remembered ──

t.test('a second connection does not ask again while the first is open', async t => {
  for (const era of ['modern', 'legacy'] as const) {
    const { servers, open, plays } = start()
    plays(era === 'modern' ? modern : old())
    const first = await open()
    const second = await open()
    t.equal(second.serverRequests, first.serverRequests)
    t.equal(methods(servers[0]?.take() ?? [])[0], 'server/discover')
    t.same(
      methods(servers[1]?.take() ?? []),
      era === 'modern' ? [] : ['initialize', 'notifications/initialized'],
    )
  }
})

t.test('clients that arrive during detection wait for it', async t => {
  const { servers, open, pass, plays } = start()
  const openings = [open(), open(), open()]
  await settled()
  t.equal(servers.length, 1)
  plays(old())
  await pass(10_000)
  const links = await Promise.all(openings)
  t.same(
    links.map(({ serverRequests }) => serverRequests),
    ['pushed', 'pushed', 'pushed'],
  )
  t.equal(
    servers.flatMap(server => server.take()).filter(({ method }) => method === 'server/discover').length,
    1,
  )
  const stop = new AbortController()
  const other = start()
  const first = other.open()
  const waiting = other.open({ signal: stop.signal })
  stop.abort()
  t.match(await endOf(waiting), /^cancelled/)
  await other.pass(10_000)
  t.match(methods(only(other.servers).take()), ['server/discover', 'initialize'])
  void first.catch(() => undefined)
})

t.test('if nothing is found out, the next one asks', async t => {
  const { servers, open, plays } = start()
  plays((end, { id }) => end.say({ id, error: unsupported('2027-01-01') }))
  t.match(await Promise.all([open(), open()].map(endOf)), [/2027-01-01/, /2027-01-01/])
  t.same(
    servers.map(server => methods(server.take())),
    [['server/discover'], ['server/discover']],
  )
})

t.test('after a loss it is asked again: it may be another version', async t => {
  const { servers, open, plays } = start()
  plays(old())
  await open()
  await open()
  servers[0]?.hangUp()
  plays(modern)
  const next = await open()
  t.equal(next.serverRequests, 'returned')
  const dropped = start()
  dropped.plays(modern)
  await dropped.open()
  dropped.servers[0]?.hangUp()
  dropped.plays(old())
  t.equal((await dropped.open()).serverRequests, 'pushed')
})

t.test('connections that we close ourselves do not affect detection, except the last', async t => {
  const { servers, open, plays } = start()
  plays(old())
  const stop = new AbortController()
  await open()
  const second = await open({ signal: stop.signal })
  // As the connection does it: the signal first.
  stop.abort()
  await second.close()
  await open()
  t.equal(methods(servers[2]?.take() ?? [])[0], 'initialize')
  const alone = start()
  alone.plays(old())
  const end = new AbortController()
  const link = await alone.open({ signal: end.signal })
  end.abort()
  await link.close()
  await alone.open()
  t.equal(methods(alone.servers[1]?.take() ?? [])[0], 'server/discover')
})

t.test('an older server is asked again after a day, at most', async t => {
  const { servers, open, plays, pass } = start()
  plays(old())
  await open()
  await pass(DAY_MS - 1)
  await open()
  t.equal(methods(servers[1]?.take() ?? [])[0], 'initialize')
  await pass(1)
  plays(modern)
  t.equal((await open()).serverRequests, 'returned')
})

t.test('a stale memory of an older server corrects itself', async t => {
  const { servers, open, plays } = start()
  plays(old())
  await open()
  plays((end, message) => {
    if (message.method === 'initialize') end.say({ id: message.id, error: unsupported(MODERN) })
    else modern(end, message)
  })
  t.equal((await open()).serverRequests, 'returned')
  t.equal((await open()).serverRequests, 'returned')
  t.same(methods(servers[1]?.take() ?? []), ['initialize', 'server/discover'])
  t.same(methods(servers[2]?.take() ?? []), [], 'and what it said then is remembered')
})

// ── HTTP ──

const URL_ = 'https://s.example/mcp'

const startHttp = (given: Omit<Partial<ServerLinkOptions & { hasSse: boolean }>, 'clock'> = {}) => {
  const http = new FakeHttp()
  const clock = new FakeClock()
  const eraCache = new EraCache(clock)
  const heard: string[] = []
  const open = (
    more: { era?: ServerLinkOptions['era']; serverRequests?: ServerRequestMode; hasSse?: boolean } = {},
  ) =>
    openServerHttp(
      http,
      { url: URL_, headers: { authorization: 'Bearer x' } },
      {
        ...linkOptions({
          clock,
          eraCache,
          listener: {
            requested: () => undefined,
            notified: () => undefined,
            closed: why => heard.push(`closed ${why.code}`),
          },
          ...given,
        }),
        hasSse: given.hasSse ?? false,
        ...more,
      },
    )
  const pass = async (ms: number): Promise<void> => {
    await settled()
    clock.advance(ms)
    await settled()
  }
  return { http, clock, heard, open, pass }
}

/** Plays an older server from its `initialize` on. */
const greet = async (http: FakeHttp): Promise<FakeExchange> => {
  await settled()
  const initialize = http.next()
  initialize.json({ result: INITIALIZED })
  await settled()
  http.next().reply(202)
  await settled()
  return initialize
}

t.test('over HTTP the question has the headers of its revision', async t => {
  const { http, open } = startHttp()
  const opening = open()
  await settled()
  const probe = http.next()
  t.same(probe.headers, {
    authorization: 'Bearer x',
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'MCP-Protocol-Version': MODERN,
    'Mcp-Method': 'server/discover',
  })
  t.match(probe.message, { id: /^probe-/, method: 'server/discover', params: { _meta: envelope() } })
  probe.json({ result: DISCOVERED })
  const link = await opening
  t.match([link.facts.revision, link.serverRequests, http.waiting], [MODERN, 'returned', 0])
})

t.test('requests of several connections to one server have ids of their own', async t => {
  let last = 0
  const nextId = (): number => {
    last += 1
    return last
  }
  const { http, open } = startHttp({ nextId })
  const first = open()
  await settled()
  http.next().json({ result: DISCOVERED })
  const links = [await first, await open()]
  const silent = { progress: () => undefined, ended: () => undefined }
  const request = { method: 'tools/list', params: undefined, wantsProgress: false }
  for (const link of [...links, ...links]) link.call(request, silent)
  t.same(
    links.flatMap(() => [http.next().message.id, http.next().message.id]),
    [1, 2, 3, 4],
  )
})

t.test('the answer may be on a stream that continues', async t => {
  const { http, open } = startHttp()
  const opening = open()
  await settled()
  const probe = http.next()
  probe.sse()
  probe.event({ method: 'notifications/message', params: {} })
  probe.event({ id: 'other', result: {} })
  probe.event({ id: probe.message.id, result: DISCOVERED })
  t.equal(await endOf(opening), MODERN)
  t.ok(probe.isAborted)
})

t.test('what an older server answers leads to initialize without a word of the new era', async t => {
  const answers: ((probe: FakeExchange) => void)[] = [
    probe => probe.json({ error: UNKNOWN }),
    probe => probe.json({ id: null, error: { code: -32000, message: 'Server not initialized' } }, {}, 400),
    probe => probe.json({ error: { code: -32001, message: 'Session not found' } }, {}, 404),
    probe => probe.reply(405),
    probe => probe.reply(404, { 'content-type': 'text/html' }, '<html>'),
    probe => probe.reply(202),
  ]
  for (const answer of answers) {
    const { http, open, heard } = startHttp()
    const opening = open()
    await settled()
    answer(http.next())
    const initialize = await greet(http)
    t.same(
      Object.keys(initialize.headers).filter(name => /^mcp-/i.test(name)),
      [],
    )
    t.equal(initialize.message.id, 1)
    t.equal(await endOf(opening), '2025-06-18')
    t.same(heard, [])
  }
})

t.test('an old server of HTTP+SSE is found in three steps, and then at once', async t => {
  const { http, open } = startHttp({ hasSse: true })
  const stream = async (): Promise<void> => {
    const get = http.next()
    t.match(get.request, { method: 'GET', headers: { accept: 'text/event-stream' } })
    get.sse()
    get.raw('event: endpoint\ndata: /messages?sessionId=x\n\n')
    await settled()
    const initialize = http.next()
    t.equal(initialize.request.url, 'https://s.example/messages?sessionId=x')
    initialize.reply(202)
    get.event({ id: initialize.message.id, result: { ...INITIALIZED, protocolVersion: '2024-11-05' } })
    await settled()
    http.next().reply(202)
    await settled()
  }
  const opening = open()
  await settled()
  http.next().reply(404)
  await settled()
  http.next().reply(404)
  await settled()
  await stream()
  t.equal(await endOf(opening), '2024-11-05')
  const second = open()
  await settled()
  await stream()
  t.equal(await endOf(second), '2024-11-05')
  const only = startHttp({ hasSse: false })
  const refused = only.open()
  await settled()
  only.http.next().reply(404)
  await settled()
  only.http.next().reply(404)
  t.match(await endOf(refused), /^unavailable: .* 404 /)
  t.equal(only.http.waiting, 0, 'unless it is not to be one')
})

t.test('neither a login nor an outage decides: 401, 503, and then a modern server', async t => {
  const { http, open, pass } = startHttp({ hasSse: true })
  const attempts: [answer: (probe: FakeExchange) => void, end: RegExp][] = [
    [probe => probe.reply(401), /^unauthorized/],
    [probe => probe.reply(403), /^unauthorized/],
    [probe => probe.reply(503), /^unavailable: .*HTTP status 503$/],
    [probe => probe.reply(429), /^unavailable: .*HTTP status 429$/],
    [
      probe => probe.break(new Fault('unavailable', 'connection refused')),
      /^unavailable: connection refused$/,
    ],
    [() => undefined, /^timeout: .*no answer; .*"era"$/],
    [probe => probe.sse(), /^timeout/],
    [probe => probe.json({ result: DISCOVERED }), /^2026-07-28$/],
  ]
  for (const [answer, end] of attempts) {
    const opening = endOf(open())
    await settled()
    const probe = http.next()
    t.equal(probe.message.method, 'server/discover')
    answer(probe)
    await pass(10_000)
    t.match(await opening, end)
    t.equal(http.waiting, 0, 'no initialize is ever sent')
  }
})

t.test('a redirect on the same origin is followed, a loop is not', async t => {
  const { http, open } = startHttp()
  const opening = open()
  await settled()
  http.next().reply(302, { location: '/mcp/' })
  await settled()
  const second = http.next()
  t.match(second.request, { method: 'POST', url: 'https://s.example/mcp/' })
  second.json({ result: DISCOVERED })
  const link = await opening
  link.call(
    { method: 'tools/list', params: undefined, wantsProgress: false },
    { progress: () => undefined, ended: () => undefined },
  )
  t.equal(http.next().request.url, 'https://s.example/mcp/', 'where it led, requests go')
  const elsewhere = startHttp()
  const other = elsewhere.open()
  await settled()
  elsewhere.http.next().reply(302, { location: 'https://evil.example/mcp' })
  t.match(await endOf(other), /^unavailable: .*nowhere on this origin$/)
  t.equal(elsewhere.http.waiting, 0)
  const loop = startHttp()
  loop.http.onRequest = exchange => {
    exchange.reply(302, { location: URL_ })
    return true
  }
  t.match(await endOf(loop.open()), /^unavailable: The server redirects more than 3 times$/)
})

t.test('a modern server that refuses the probe is reported with its error', async t => {
  const { http, open } = startHttp()
  const opening = open()
  await settled()
  http.next().json({ error: { code: -32021, message: 'sampling is required' } }, {}, 400)
  t.equal(await endOf(opening), 'unavailable: The server refused server/discover: sampling is required')
  t.equal(http.waiting, 0)
})

t.test('over HTTP, too, a server may be modern after all', async t => {
  const { http, open, heard } = startHttp()
  const opening = open()
  await settled()
  http.next().json({ error: UNKNOWN })
  await settled()
  const initialize = http.next()
  initialize.json({ error: unsupported(MODERN) }, {}, 400)
  await settled()
  const again = http.next()
  t.equal(again.message.method, 'server/discover')
  again.json({ result: DISCOVERED })
  const link = await opening
  t.equal(link.serverRequests, 'returned')
  t.same(heard, [])
})

t.test('one era for sure holds over HTTP as well', async t => {
  const legacy = startHttp()
  const one = legacy.open({ era: 'legacy' })
  await settled()
  t.equal(legacy.http.next().message.method, 'initialize')
  void one.catch(() => undefined)
  const sure = startHttp({ hasSse: true })
  const two = sure.open({ era: 'modern' })
  await settled()
  sure.http.next().reply(404)
  t.match(await endOf(two), /^unavailable: The server does not speak 2026-07-28/)
  t.equal(sure.http.waiting, 0)
})

t.test('a server replaced by an older one is probed again', async t => {
  const { http, open, heard } = startHttp()
  const opening = open()
  await settled()
  http.next().json({ result: DISCOVERED })
  const link = await opening
  const ends: string[] = []
  link.call(
    { method: 'tools/call', params: undefined, wantsProgress: false },
    { progress: () => undefined, ended: ({ kind }) => ends.push(kind) },
  )
  const older = { id: null, error: { code: -32000, message: 'Server not initialized' } }
  for (const method of ['tools/call', 'server/discover']) {
    const exchange = http.next()
    t.equal(exchange.message.method, method)
    exchange.json(older, {}, 400)
    await settled()
  }
  t.same([heard, ends], [['closed disconnected'], ['fault']])
  const next = open()
  await settled()
  const probe = http.next()
  t.match(probe.message, { id: /^probe/, method: 'server/discover' })
  probe.json(older, {}, 400)
  await greet(http)
  t.equal((await next).serverRequests, 'pushed')
})

// ── HTTP: servers of both eras ──

t.test('over HTTP, a server of both eras is used in the era of its clients, at its new address', async t => {
  const { http, open } = startHttp({ serverRequests: 'pushed' })
  const opening = open()
  await settled()
  http.next().reply(307, { location: '/moved' })
  await settled()
  http.next().json({ result: DISCOVERED })
  const initialize = await greet(http)
  t.equal(initialize.request.url, 'https://s.example/moved')
  t.match(await opening, { serverRequests: 'pushed', hasOtherMode: true })
  t.match(await open({ serverRequests: 'returned' }), { serverRequests: 'returned' })
})

t.test('over HTTP, a refused initialize rules the legacy era out, and an outage decides nothing', async t => {
  const refusals: ((exchange: FakeExchange) => void)[] = [
    exchange => exchange.json({ error: unsupported(MODERN) }),
    exchange => exchange.json({ error: { code: -32000, message: 'no' } }, {}, 400),
    exchange => exchange.json({ result: { ...INITIALIZED, protocolVersion: MODERN } }),
    ...[400, 401, 403, 404, 405, 500].map(status => (exchange: FakeExchange) => exchange.reply(status)),
  ]
  const begin = async (answer: (exchange: FakeExchange) => void) => {
    const { http, open } = startHttp({ serverRequests: 'pushed' })
    const opening = open()
    await settled()
    http.next().json({ result: DISCOVERED })
    await settled()
    answer(http.next())
    return { http, open, opening }
  }
  for (const [index, refusal] of refusals.entries()) {
    const { http, open, opening } = await begin(refusal)
    t.match(await opening, { serverRequests: 'returned', hasOtherMode: false }, String(index))
    t.match(await open(), { serverRequests: 'returned', hasOtherMode: false })
    t.equal(http.waiting, 0, 'nor is it asked again')
  }
  for (const status of [408, 425, 429, 502, 503, 504]) {
    const { opening } = await begin(exchange => exchange.reply(status))
    t.match(await endOf(opening), `unavailable: The server answered with HTTP status ${status}`)
  }
})
