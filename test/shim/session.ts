import { Duplex, PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import type { DaemonConnection } from '../../src/shim/connector.js'
import { ShimSession, type ShimSessionOptions } from '../../src/shim/session.js'
import { settled } from '../support/fake-clock.js'
import { until } from '../support/processes.js'

interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { readonly [key: string]: unknown }
  readonly result?: object
  readonly error?: {
    readonly message: string
    readonly data: { readonly reason: string; readonly errorId?: string }
  }
}

/** One end of a stream of lines. */
const linesOf = (stream: NodeJS.ReadableStream) => {
  const seen: Message[] = []
  let rest = ''
  stream.on('data', chunk => {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    seen.push(...lines.map(line => JSON.parse(line)))
  })
  return seen
}

/** A daemon at the other end of a connection. */
const daemon = (refusal = 'secret') => {
  const [down, up] = [new PassThrough(), new PassThrough()]
  const stream = Duplex.from({ readable: up, writable: down })
  stream.on('error', () => undefined)
  const heard = linesOf(down)
  const connection: DaemonConnection = {
    stream,
    welcome: { version: '1', pid: 1, session: 'k1', want: [], refusal },
  }
  return {
    connection,
    heard,
    send: (...messages: object[]) => {
      for (const message of messages) up.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    },
    asked: (method: string) => heard.filter(message => message.method === method),
    die: () => stream.destroy(),
  }
}

type Daemon = ReturnType<typeof daemon>

const HELLO = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
}
const WELCOME = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true }, prompts: {} },
  serverInfo: { name: 'mcp-proxy', version: '1' },
}

/** A client behind a session, served by daemons one after the other. */
const start = async (t: Test, first = daemon(), limits: ShimSessionOptions['limits'] = {}) => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const told: string[] = []
  const next: ((connection: DaemonConnection | Error) => void)[] = []
  const session = new ShimSession({
    input,
    output,
    tell: words => told.push(words),
    limits,
    connect: () =>
      new Promise((resolve, reject) => {
        next.push(found => (found instanceof Error ? reject(found) : resolve(found)))
      }),
  })
  const heard = linesOf(output)
  const gone = session.serve(first.connection)
  t.teardown(() => session.destroy())
  const send = (...messages: object[]): void => {
    for (const message of messages) input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  /** Connects the session to another daemon, which answers `initialize` as it is told. */
  const comeBack = async (other: Daemon, result: object = WELCOME): Promise<void> => {
    await until(() => next.length > 0, 'an attempt to connect')
    next.shift()?.(other.connection)
    await until(() => other.heard.length > 0, 'the introduction')
    const [hello] = other.asked('initialize')
    if (hello?.id !== undefined) other.send({ id: hello.id, result })
  }
  const introduce = async (): Promise<void> => {
    send(HELLO, { method: 'notifications/initialized' })
    await until(() => first.heard.length === 2, 'the introduction')
    first.send({ id: 0, result: WELCOME })
    await until(() => heard.length === 1, 'the answer')
  }
  return { input, output, first, next, heard, told, gone, send, comeBack, introduce }
}

const ids = (messages: readonly Message[]) => messages.map(({ id }) => id)

t.test(
  'a lost daemon is replaced, and the client introduced to the next as it introduced itself',
  async t => {
    const { first, heard, send, comeBack, introduce } = await start(t)
    await introduce()
    send({ id: 1, method: 'logging/setLevel', params: { level: 'info' } })
    send({ id: 2, method: 'resources/subscribe', params: { uri: 'a:1' } })
    send({ id: 3, method: 'resources/subscribe', params: { uri: 'a:2' } })
    send({ id: 4, method: 'resources/unsubscribe', params: { uri: 'a:1' } })
    await until(() => first.heard.length === 6, 'all requests')
    first.send({ id: 1, result: {} }, { id: 2, result: {} }, { id: 3, result: {} }, { id: 4, result: {} })
    await until(() => heard.length === 5, 'all answers')
    first.die()
    const second = daemon()
    await comeBack(second)
    await until(() => second.asked('resources/subscribe').length === 1, 'what is renewed')
    const [hello, confirmed, level, subscription] = second.heard
    t.match(hello, { method: 'initialize', params: HELLO.params })
    t.not(hello?.id, 0, 'under an id of our own')
    t.same(confirmed, { jsonrpc: '2.0', method: 'notifications/initialized' })
    t.match(level, { method: 'logging/setLevel', params: { level: 'info' } })
    t.match(subscription, { params: { uri: 'a:2' } }, 'and not what was called off')
    second.send({ id: level?.id ?? '', result: {} }, { id: subscription?.id ?? '', result: {} })
    send({ id: 5, method: 'tools/list' })
    await until(() => second.asked('tools/list').length === 1, 'the next request')
    second.send({ id: 5, result: { tools: [] } })
    await until(() => heard.length === 7, 'its answer')
    t.same(ids(heard.slice(5)), [undefined, 5], 'the client hears of nothing else')
    t.equal(heard[5]?.method, 'notifications/tools/list_changed', 'but that its list may be another one')
  },
)

t.test(
  'calls in flight are repeated if that is safe, and otherwise end with an error, each once',
  async t => {
    const { first, heard, send, comeBack, introduce } = await start(t)
    await introduce()
    send({ id: 'a', method: 'tools/call', params: { name: 'x' } }, { id: 'b', method: 'tools/list' })
    send(
      { id: 'c', method: 'prompts/get', params: { name: 'p' } },
      { id: 'd', method: 'tasks/get', params: {} },
    )
    send({ id: 'e', method: 'tools/call', params: { name: 'y' } })
    send({ method: 'notifications/cancelled', params: { requestId: 'e' } })
    first.send({ id: 'k-1', method: 'elicitation/create', params: {} })
    await until(() => first.heard.length === 8 && heard.length === 2, 'all messages')
    first.die()
    await until(() => heard.length === 5, 'the errors')
    t.match(heard[2], { method: 'notifications/cancelled', params: { requestId: 'k-1' } })
    const data = { reason: 'proxy_restarted', mayHaveRun: true, retryAfterMs: 1000 }
    t.match(heard.slice(3), [
      { id: 'a', error: { code: -32603, data } },
      { id: 'd', error: { code: -32603, data } },
    ])
    // The answer to a question of the daemon before is nothing to the next one.
    send({ id: 'k-1', result: { action: 'decline' } })
    const second = daemon()
    await comeBack(second)
    await until(() => second.heard.length === 4, 'what is asked again')
    t.same(ids(second.heard.slice(2)), ['b', 'c'])
    second.send(
      { id: 'a', result: {} },
      { id: 'b', result: {} },
      { id: 'b', result: {} },
      { id: 'z', result: {} },
    )
    second.send({ id: 'c', result: {} })
    await until(() => heard.some(({ id }) => id === 'c'), 'the last answer')
    t.same(ids(heard.slice(5)), [undefined, 'b', 'c'], 'no second answer, and none to nothing')
    await settled()
    t.equal(second.heard.length, 4)
  },
)

t.test('a call that a daemon did not begin, because it ends, is made of the next one', async t => {
  const { first, heard, send, comeBack, introduce } = await start(t)
  await introduce()
  send({ id: 1, method: 'tools/call', params: { name: 'x' } }, { id: 2, method: 'tools/call', params: {} })
  await until(() => first.heard.length === 4, 'the calls')
  const error = (refusal: string) => ({
    code: -32603,
    message: 'no',
    data: { reason: 'unavailable', refusal },
  })
  first.send({ id: 1, error: error('secret') }, { id: 2, error: error('guess') })
  await until(() => heard.length === 2, 'an error')
  t.equal(heard[1]?.id, 2, 'who does not know the word cannot have a call made twice')
  first.die()
  const second = daemon()
  await comeBack(second)
  await until(() => second.asked('tools/call').length === 1, 'the call')
  second.send({ id: 1, result: { content: [] } })
  await until(() => heard.length === 4, 'its result')
  t.match(heard[3], { id: 1, result: { content: [] } })
})

t.test('a daemon that ends in order says that it began nothing more', async t => {
  const { first, heard, send, comeBack, introduce } = await start(t)
  await introduce()
  send({ id: 1, method: 'tools/call', params: { name: 'x' } }, { id: 2, method: 'tools/call', params: {} })
  await until(() => first.heard.length === 4, 'the calls')
  first.send(
    { id: 1, result: {} },
    { method: 'notifications/mcp-proxy/ended', params: { refusal: 'secret' } },
  )
  await until(() => heard.length === 2, 'the last answer')
  first.die()
  const second = daemon()
  await comeBack(second)
  await until(() => second.asked('tools/call').length === 1, 'the call')
  t.same(ids(second.asked('tools/call')), [2])
  t.same(ids(heard), [0, 1, undefined], 'and the client hears of it only that its lists may differ')
})

t.test('what a client asks of a daemon that has said its last word is for the next one', async t => {
  const { first, heard, send, comeBack, introduce } = await start(t)
  await introduce()
  first.send({ method: 'notifications/mcp-proxy/ended', params: { refusal: 'secret' } })
  await settled()
  send({ id: 1, method: 'tools/call', params: { name: 'x' } })
  const second = daemon()
  await comeBack(second)
  await until(() => second.asked('tools/call').length === 1, 'the call')
  second.send({ id: 1, result: {} })
  await until(() => heard.some(({ id }) => id === 1), 'its result')
  t.match(heard.at(-1), { id: 1, result: {} })
  t.same(first.asked('tools/call'), [])
})

t.test('a client that knows another revision is told to restart', async t => {
  const { first, heard, send, comeBack, introduce } = await start(t)
  await introduce()
  first.die()
  await comeBack(daemon(), { ...WELCOME, protocolVersion: '2024-11-05' })
  send({ id: 1, method: 'tools/list' })
  await until(() => heard.length === 2, 'the error')
  t.match(heard[1], { id: 1, error: { code: -32603, data: { reason: 'revision_changed' } } })
})

t.test('requests that came together with the loss wait for the next daemon', async t => {
  const { first, heard, send, comeBack, introduce } = await start(t)
  await introduce()
  first.die()
  await settled()
  send({ id: 1, method: 'tools/call', params: { name: 'x' } })
  const second = daemon()
  await comeBack(second)
  await until(() => second.asked('tools/call').length === 1, 'the call')
  second.send({ id: 1, result: {} })
  await until(() => heard.some(({ id }) => id === 1), 'its result')
  t.match(heard.at(-1), { id: 1, result: {} })
})

t.test('a client that disconnects gets the answers in flight, and then the end', async t => {
  const { input, first, heard, gone, send, introduce } = await start(t)
  await introduce()
  send({ id: 1, method: 'tools/list' })
  input.end()
  await until(() => first.heard.length === 3, 'the request')
  first.send({ id: 1, result: { tools: [] } })
  await until(() => heard.length === 2, 'the answer')
  first.die()
  await gone
  t.match(heard[1], { id: 1 })
})

t.test('every line is relayed byte for byte', async t => {
  const { input, first, heard, output, introduce } = await start(t)
  await introduce()
  const raw: string[] = []
  first.connection.stream.on('error', () => undefined)
  output.on('data', chunk => raw.push(String(chunk)))
  input.write(
    '{ "jsonrpc":"2.0",\t"id":1e0, "method":"tools/list","params":{"big":12345678901234567890} }\r\n',
  )
  await until(() => first.heard.length === 3, 'the request')
  first.send({ id: 1, result: { n: 1 } })
  await until(() => heard.length === 2, 'the answer to an id in another spelling')
  t.equal(raw.join(''), '{"jsonrpc":"2.0","id":1,"result":{"n":1}}\n')
})

t.test('without a daemon requests are refused after a while, and served again by the next one', async t => {
  const { first, next, heard, told, send, comeBack, introduce } = await start(t, daemon(), {
    maxWaitMs: 0,
    retryMs: 1,
  })
  await introduce()
  send({ id: 1, method: 'tools/list' })
  await until(() => first.heard.length === 3, 'the request')
  first.die()
  await until(() => next.length > 0, 'an attempt to connect')
  send({ id: 2, method: 'tools/call', params: { name: 'x' } })
  await until(() => heard.length === 3, 'the errors, while the attempt goes on')
  const error = {
    code: -32603,
    message: /could not be started/,
    data: { reason: 'proxy_lost', doctor: 'D041', errorId: /^[a-z0-9]{4}-[a-z0-9]+$/ },
  }
  t.match(heard.slice(1), [
    { id: 1, error },
    { id: 2, error },
  ])
  t.same(told, ['D041: the daemon has ended; trying again every 0.001 s'])
  next.shift()?.(new Error('nobody is there'))
  send({ id: 3, method: 'ping' })
  await until(() => heard.length === 4, 'an error at once')
  t.match(heard[3], { id: 3, error })
  const refused = heard.slice(1).map(message => [message.error?.data.errorId, message.error?.message])
  for (const [id, message] of refused) t.match(message, `(${id})`, 'the message ends in its id')
  t.equal(new Set(refused.map(([id]) => id)).size, 3, 'each has its own')
  await until(() => next.length > 0, 'another attempt')
  next.shift()?.(new Error('still nobody'))
  const second = daemon()
  await comeBack(second)
  await until(() => heard.length === 5, 'that the lists may be others')
  send({ id: 4, method: 'tools/list' })
  await until(() => second.asked('tools/list').length === 1, 'the next request')
  t.equal(told.length, 1, 'the user is told once')
})

t.test('a subscription of 2026-07-28 goes on, and its client hears that lists may be others', async t => {
  const { first, next, heard, send } = await start(t)
  const acknowledged = {
    method: 'notifications/subscriptions/acknowledged',
    params: {
      notifications: { toolsListChanged: true, promptsListChanged: false },
      _meta: { 'io.modelcontextprotocol/subscriptionId': 'L' },
    },
  }
  send({ id: 'L', method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } })
  await until(() => first.heard.length === 1, 'the subscription')
  first.send(acknowledged)
  await until(() => heard.length === 1, 'its begin')
  t.match(heard[0], acknowledged)
  first.die()
  const second = daemon()
  await until(() => next.length > 0, 'an attempt to connect')
  next.shift()?.(second.connection)
  await until(() => second.asked('subscriptions/listen').length === 1, 'the subscription again')
  second.send(acknowledged, { id: 'L', result: {} })
  await until(() => heard.some(({ id }) => id === 'L'), 'its end')
  const { _meta } = acknowledged.params
  t.same(heard.slice(1), [
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } },
    { jsonrpc: '2.0', id: 'L', result: {} },
  ])
})

t.test('a daemon that cannot start is retried at growing intervals, and reported once', async t => {
  const { first, next, told, introduce } = await start(t, daemon(), { maxWaitMs: 1000, retryMs: 500 })
  await introduce()
  first.die()
  let tries = 0
  for (; told.length === 0; tries++) {
    await until(() => next.length > 0 || told.length > 0, 'an attempt to connect')
    next.shift()?.(new Error('it ends at once'))
    await settled()
  }
  t.ok(tries <= 5, `${tries} times within a second`)
  for (let more = 0; more < 2; more++) {
    await until(() => next.length > 0, 'another attempt')
    next.shift()?.(new Error('still nobody'))
  }
  await settled()
  t.same(told, ['D041: it ends at once; trying again every 0.5 s'])
})

t.test('a daemon that is lost while it is met, or does not agree, is not the last that is tried', async t => {
  const { first, next, heard, send, introduce, comeBack } = await start(t)
  await introduce()
  first.die()
  const lost = daemon()
  await until(() => next.length > 0, 'an attempt to connect')
  next.shift()?.(lost.connection)
  await until(() => lost.heard.length > 0, 'the introduction')
  lost.die()
  const refusing = daemon()
  await until(() => next.length > 0, 'another attempt')
  next.shift()?.(refusing.connection)
  await until(() => refusing.heard.length > 0, 'the introduction')
  refusing.send({ id: refusing.heard[0]?.id ?? '', error: { code: -32603, message: 'no' } })
  await comeBack(daemon())
  await until(() => heard.length === 2, 'the client to be served')
  t.equal(heard[1]?.method, 'notifications/tools/list_changed')
  send({ id: 1, method: 'ping' })
})

t.test('a client that disconnects without a daemon is not kept', async t => {
  const { input, first, gone, introduce, next } = await start(t)
  await introduce()
  first.die()
  await until(() => next.length > 0, 'an attempt to connect')
  input.resume()
  input.end()
  await gone
  t.pass('it has gone')
})

t.test('a message beyond the buffer gets an error, and the next one is served', async t => {
  const { input, first, heard, send, introduce } = await start(t, daemon(), { lineBytes: 1000 })
  await introduce()
  input.write(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"${'x'.repeat(2000)}"}}\n`)
  await until(() => heard.length === 2, 'the error')
  t.match(heard[1], {
    id: 7,
    error: { message: /^The message of 2\d+ bytes is too long/, data: { reason: 'too-large' } },
  })
  send({ id: 8, method: 'tools/list' })
  await until(() => first.asked('tools/list').length === 1, 'the next request')
})

t.test('what either side does not read holds the other back, and nothing is lost', async t => {
  const { input, output, first, heard, introduce } = await start(t)
  await introduce()
  output.removeAllListeners('data')
  output.pause()
  const big = 'y'.repeat(256 * 1024)
  for (let n = 0; n < 16; n += 1) first.send({ method: 'notifications/message', params: { n, data: big } })
  await until(() => first.connection.stream.isPaused(), 'the daemon to wait')
  const late = linesOf(output.resume())
  await until(() => late.length === 16, 'all that it said')
  t.same(
    late.map(({ params }) => params?.['n']),
    Array.from({ length: 16 }, (_, n) => n),
  )
  t.equal(heard.length, 1)
  t.notOk(input.isPaused(), 'the client is read meanwhile')
})
