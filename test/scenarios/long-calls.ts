import t, { type Test } from 'tap'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { connectTo } from '../support/client/sdk-client.js'
import type { Address, ClientKind } from '../support/client/sdk-transports.js'
import type { Revision } from '../support/era/codec.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { socketFile, until } from '../support/processes.js'
import { NOWHERE, rawServer, startProxy } from '../support/proxy/start.js'

// A call lasts as long as its client waits, on every transport. Only the proxy's clock is a fake one.

const MINUTE_MS = 60_000
const STEP_MS = 5000

/** Advances the clock in steps that are short enough for keep-alives, pings and sweeps. */
const pass = async (clock: FakeClock, ms: number): Promise<void> => {
  for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
    clock.advance(STEP_MS)
    await settled()
  }
}

/** Waits for work that depends on timers of the proxy. */
const ticking = async <T>(clock: FakeClock, work: Promise<T>): Promise<T> => {
  const timer = setInterval(() => clock.advance(10), 2)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

/** Starts a server behind each transport. The remote ones are proxies of the same program. */
const startServers = async (t: Test): Promise<Readonly<Record<string, object>>> => {
  const remote = startProxy(t, { raw: rawServer() }, { isAlone: true })
  const { url, sseUrl, wsUrl } = await remote.listen({ port: 0 })
  const { path } = await remote.listenSocket(socketFile(t))
  return {
    stdio: rawServer(),
    http: { url, era: 'legacy' },
    sse: { url: sseUrl, type: 'sse' },
    ws: { url: wsUrl },
    socket: { url: `unix://${path}` },
    modern: { url, era: 'modern' },
  }
}

const start = async (t: Test, servers: Readonly<Record<string, object>>) => {
  const clock = new FakeClock()
  let ticks: NodeJS.Timeout | undefined
  // Teardowns run in reverse order.
  t.teardown(() => clearInterval(ticks))
  const tickUntilEnd = (): void =>
    t.teardown(() => {
      ticks = setInterval(() => clock.advance(10), 2)
    })
  const proxy = startProxy(t, servers, { clock, more: { timeouts: { connect: '30m' } } })
  const { url, sseUrl = '', wsUrl = '' } = await proxy.listen({ port: 0 })
  const { path } = await proxy.listenSocket(socketFile(t))
  return { clock, proxy, tickUntilEnd, address: { ...NOWHERE, url, sseUrl, wsUrl, path } }
}

type ClientSpec = readonly [ClientKind, Revision]

/** Makes a call of each client at each server that takes half an hour. */
const callForLong = async (
  t: Test,
  servers: Readonly<Record<string, object>>,
  specs: readonly ClientSpec[],
): Promise<void> => {
  const { clock, proxy, tickUntilEnd, address } = await start(t, servers)
  const connect = async ([kind, revision]: ClientSpec) => {
    const { client } = await connectTo(t, address satisfies Address, kind, revision)
    await client.list('tools')
    return { label: `${kind} ${revision}`, client }
  }
  const clients = await ticking(clock, Promise.all(specs.map(connect)))
  const calls = clients.flatMap(({ label, client }) =>
    Object.keys(servers).map(name => {
      const key = `${label} ${name}`
      const answer: Promise<Loose> = client.callTool(`${name}__wait`, { key }, { timeout: 600_000 })
      return { key, name, client, answer: answer.catch((error: unknown) => error) }
    }),
  )
  await ticking(
    clock,
    until(() => proxy.status().calls === calls.length, 'all calls'),
  )
  await pass(clock, 30 * MINUTE_MS)
  t.equal(proxy.status().calls, calls.length, 'all are still in flight')
  for (const { key, name, client, answer } of calls) {
    await ticking(clock, client.callTool(`${name}__release`, { key }))
    t.match(await answer, { content: [{ text: 'released' }] }, key)
  }
  t.match(proxy.status(), { calls: 0 })
  tickUntilEnd()
}

t.test('a call of any client without a word for 30 minutes succeeds', t =>
  callForLong(t, { stdio: rawServer() }, [
    ['http', '2025-06-18'],
    ['sse', '2024-11-05'],
    ['ws', '2025-11-25'],
    ['socket', '2025-11-25'],
    ['http', '2026-07-28'],
    ['ws', '2026-07-28'],
    ['socket', '2026-07-28'],
  ]),
)

t.test('a call at any server without a word for 30 minutes succeeds', async t =>
  callForLong(t, await startServers(t), [['http', '2025-11-25']]),
)

t.test('a call whose client left ends after ten minutes, also at its server', async t => {
  const { clock, proxy, tickUntilEnd, address } = await start(t, { s: rawServer() })
  const client = new RawClient(address.url)
  await ticking(clock, client.initialize())
  const gone = client.call(1, 's__wait', '{"key":"left"}').catch(() => undefined)
  await ticking(
    clock,
    until(() => proxy.status().inFlight[0]?.where === 'server', 'the call'),
  )
  client.vanish()
  await gone
  await pass(clock, 9 * MINUTE_MS)
  t.equal(proxy.status().calls, 1, 'its client could still resume')
  await pass(clock, 3 * MINUTE_MS)
  t.match(proxy.status(), { calls: 0, inFlight: [] })
  const other = new RawClient(address.url)
  await ticking(clock, other.initialize())
  const { last } = await ticking(clock, other.call(2, 's__seen'))
  t.match(last.text, /notifications\/cancelled.*its client disconnected/)
  tickUntilEnd()
})
