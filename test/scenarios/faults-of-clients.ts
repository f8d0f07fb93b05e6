import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import {
  type Attack,
  attacked,
  dial,
  HEADERS,
  head,
  INITIALIZE_BODY,
  JSON_LINES,
  PING,
  post,
  refused,
  textOf,
} from '../support/client/attack.js'
import { RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`
const request = (params: string, method = 'tools/call'): string =>
  `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${params}}`

/** A request that no server gets to see: -32602, with words that say what is wrong. */
const unfit =
  (method: string, ...all: readonly object[]): Attack =>
  async ({ client }, t) => {
    for (const params of all) {
      const { last } = await client.request(method, params)
      t.match(last.message, { error: { code: -32602 } }, JSON.stringify(params).slice(0, 60))
      t.ok(last.text.length < 1000, 'a long name is not repeated at length')
    }
  }

const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Sends a call of the newest revision. */
const modern = (params: object) => {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params, _meta: MODERN } }
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'good__echo',
  }
  return [JSON.stringify(body), headers] as const
}

const NOT_JSON = /"code":-32700/
const NO_MESSAGE = /"code":-32600/

const MESSAGES: Readonly<Record<string, Attack>> = {
  'sends no JSON': refused(400, NOT_JSON, '{"jsonrpc":'),
  'sends nothing': refused(400, NOT_JSON, ''),
  'sends blanks': refused(400, NOT_JSON, ' \r\n\t'),
  'sends NUL': refused(400, NOT_JSON, '\0\0\0'),
  'sends bytes that are no UTF-8': refused(
    400,
    NOT_JSON,
    Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', 'latin1'),
  ),
  'sends UTF-16': refused(400, NOT_JSON, Buffer.from(`\ufeff${PING}`, 'utf16le')),
  'sends JSON that is no message': refused(400, NO_MESSAGE, '[1,2,3]'),
  'sends a number': refused(400, NO_MESSAGE, '1e999'),
  'sends JSON 100,000 deep': refused(400, NOT_JSON, request(nested(1e5))),
  'sends JSON with a comment': refused(400, NOT_JSON, `/* */${PING}`),
  'sends two messages in one body': refused(400, NOT_JSON, `${PING}\n${PING}`),
  'sends a member twice': refused(400, NO_MESSAGE, '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'),
  'sends a name twice': refused(400, NO_MESSAGE, request('{"name":"good__echo","name":"good__exit"}')),
  'sends a name twice, once escaped': refused(
    400,
    NO_MESSAGE,
    request('{"name":"good__echo","n\\u0061me":"good__exit"}'),
  ),
  'speaks another JSON-RPC': refused(400, NO_MESSAGE, '{"jsonrpc":"1.0","id":1,"method":"ping"}'),
  'has an object for an id': refused(400, NO_MESSAGE, '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}'),
  'has null for an id': refused(400, NO_MESSAGE, '{"jsonrpc":"2.0","id":null,"method":"ping"}'),
  'has a list of params': refused(400, NO_MESSAGE, request('["good__echo"]')),
  'has a number for a method': refused(400, NO_MESSAGE, '{"jsonrpc":"2.0","id":1,"method":5}'),
  'sends a batch': refused(400, NO_MESSAGE, `[${PING}]`),
  'sends an empty batch': refused(400, NO_MESSAGE, '[]'),
  'sends a batch of 10,000': refused(400, NO_MESSAGE, `[${Array.from({ length: 1e4 }, () => PING).join()}]`),
  'sends batches in batches': refused(400, NO_MESSAGE, `[[[${PING}]]]`),
  'hides initialize in a batch': refused(400, NO_MESSAGE, `[${INITIALIZE_BODY},${INITIALIZE_BODY}]`),
  'guesses a session': refused(404, /Session not found/, PING, { 'mcp-session-id': 'x'.repeat(22) }),
  'guesses one with a long name': refused(404, /Session not found/, PING, {
    'mcp-session-id': 'x'.repeat(5000),
  }),
  'guesses one with a strange name': refused(404, /Session not found/, PING, {
    'mcp-session-id': '__proto__',
  }),
  'names a revision that there is not': refused(400, /Unsupported/, PING, {
    'mcp-protocol-version': '1999-01-01',
  }),
  'names two sessions': async (target, t) => {
    const id = target.client.session ?? ''
    t.equal((await post(target, PING, { 'mcp-session-id': `${id}, ${id}` })).status, 404)
  },
  'pings with the largest of all ids': async (target, t) => {
    const id = `"${'x'.repeat(1e6)}"`
    const answer = await (await post(target, PING.replace('1', id))).text()
    t.ok(answer.includes('"error"') || answer.includes(id.slice(0, 1000)))
  },
  'has __proto__ for everything': async (target, t) => {
    const args = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
    const body = `{"jsonrpc":"2.0","__proto__":{"id":9},"id":"__proto__","method":"tools/call","params":{"name":"good__raw","__proto__":{"name":"x"},"arguments":${args},"_meta":{"__proto__":{"progressToken":1},"progressToken":"__proto__"}}}`
    const answer = await (await post(target, body)).text()
    t.match(answer, '"id":"__proto__"')
    t.ok(answer.includes(args), 'data stays data')
    t.notOk((await (await fetch(new URL('/status', target.daemon.url))).text()).includes('polluted'))
  },
  'calls methods that there are not': async ({ client }, t) => {
    for (const method of [
      '__proto__',
      'constructor',
      'toString',
      '',
      'tools/call\n',
      '\ud800',
      'x'.repeat(1e5),
    ]) {
      const { last } = await client.request(method, {})
      t.match(last.message, { error: { code: -32601 } }, method.slice(0, 20))
      t.ok(last.text.length < 1000)
    }
  },
  'calls names that are no tools': unfit(
    'tools/call',
    {},
    ...[
      '__proto__',
      'constructor',
      'good____proto__',
      'good__',
      '__echo',
      'echo',
      'good__echo\0',
      'good__echo\r\n',
      'GOOD__ECHO',
    ]
      .concat('', 'x'.repeat(1e5), '\u001b[31m', 'good__\u0435cho')
      .map(name => ({ name })),
    ...[5, null, {}, ['good__echo'], true].map(name => ({ name })),
  ),
  'calls with arguments that are none': async ({ client }, t) => {
    for (const args of ['5', '"x"', '[]', 'null']) {
      const { last } = await client.call('args', 'good__echo', args)
      t.ok(last.message.error ?? last.message.result, args)
    }
  },
  'reads what there is not': async ({ client }, t) => {
    const uris = [
      '__proto__',
      'file:///../../etc/passwd',
      'good+',
      '+',
      'nobody+file:///a',
      '',
      'x'.repeat(1e5),
      'http://169.254.169.254/',
    ]
    for (const uri of [...uris, 5, null, {}]) {
      const { last } = await client.request('resources/read', { uri })
      const isOurs = last.message.result?.contents?.[0]?.text?.startsWith('raw read') === true
      t.ok(isOurs || last.message.error !== undefined, String(uri).slice(0, 40))
    }
  },
  'forges cursors': unfit(
    'tools/list',
    ...['x', '%%%', 'a'.repeat(10_000), 'eyJ4IjoxfQ', '__proto__', '\0', '..', 5, null, {}].map(cursor => ({
      cursor,
    })),
  ),
  'forges a requestState': async (target, t) => {
    for (const requestState of [
      'x',
      'v1.k.AAAA',
      `v1..${'A'.repeat(100)}`,
      '__proto__',
      'v1.k.'.repeat(1e5),
    ]) {
      const [body, headers] = modern({ name: 'good__echo', arguments: {}, requestState, inputResponses: {} })
      t.match(await (await post(target, body, headers)).json(), { error: { code: -32602 } })
    }
  },
  'says one thing in a header and another in the body': async (target, t) => {
    const [body, headers] = modern({ name: 'good__echo', arguments: {} })
    const response = await post(target, body, { ...headers, 'mcp-name': 'good__exit' })
    t.equal(response.status, 400)
    t.match(await response.text(), /Mcp-Name/i)
  },
  'completes what there is not': async ({ client }, t) => {
    for (const ref of [{ type: 'ref/prompt', name: '__proto__' }, { type: 'x' }, null, 5]) {
      const { last } = await client.request('completion/complete', {
        ref,
        argument: { name: 'x', value: 'y' },
      })
      t.match(last.message, { error: { code: -32602 } })
    }
  },
  'sets levels that there are not': unfit('logging/setLevel', { level: 'loud' }, { level: '__proto__' }, {}),
  'introduces itself again and again': async (target, t) => {
    for (let n = 0; n < 20; n += 1) {
      const answer = await (await post(target, INITIALIZE_BODY)).text()
      t.match(answer, /"error"|"result"/)
    }
  },
  'introduces itself as nobody can': async ({ client }, t) => {
    const params = [
      {},
      { protocolVersion: 5 },
      { protocolVersion: '2025-11-25' },
      { protocolVersion: '2025-11-25', capabilities: 5, clientInfo: [] },
    ]
    for (const hello of params) {
      const other = new RawClient(client.url)
      const { last } = await other.request('initialize', hello)
      t.ok(last.message.error ?? last.message.result)
      other.vanish()
    }
  },
  'asks before it was greeted, and leaves': async (target, t) => {
    const other = new RawClient(target.client.url)
    void other
      .request('initialize', {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      })
      .catch(() => undefined)
    other.vanish()
    t.pass()
  },
}

const DEEDS: Readonly<Record<string, Attack>> = {
  'uses an id twice': async ({ client }, t) => {
    const one = client.call('twice', 'good__wait', '{"key":"twice"}')
    const two = client.call('twice', 'good__wait', '{"key":"never"}')
    t.match((await two).last.message.error, { code: -32600, message: /in use/ })
    await client.call('release', 'good__release', '{"key":"twice"}')
    t.equal(textOf(await one), 'released')
  },
  'cancels what is not its own': async ({ client }, t) => {
    const other = new RawClient(client.url)
    await other.initialize()
    const call = client.call('mine', 'good__wait', '{"key":"mine"}')
    for (const requestId of ['mine', 1, null, {}, '__proto__']) {
      await other.post({ method: 'notifications/cancelled', params: { requestId } })
    }
    await other.post({ method: 'notifications/cancelled' })
    await client.call('release-mine', 'good__release', '{"key":"mine"}')
    t.equal(textOf(await call), 'released')
    await other.end()
  },
  'cancels a hundred calls and makes them again': async ({ client }, t) => {
    const open = new Set(Array.from({ length: 100 }, (_, n) => `c${n}`))
    const cancel = (requestId: string) =>
      client.post({ method: 'notifications/cancelled', params: { requestId } })
    for (const id of [...open]) {
      const over = () => open.delete(id)
      void client.call(id, 'good__wait', `{"key":"${id}"}`).then(over, over)
      await cancel(id)
    }
    await until(async () => {
      // One that overtook its call was in vain.
      for (const id of open) await cancel(id)
      return open.size === 0
    }, 'the end of the calls')
    t.equal(textOf(await client.call('c1', 'good__echo', '{"a":1}')), '{"a":1}')
  },
  'reports progress that nobody asked for': async ({ client }, t) => {
    for (const progressToken of [1, '1', null, '__proto__', {}]) {
      const params = { progressToken, progress: 1 }
      t.equal((await client.post({ method: 'notifications/progress', params })).status, 202)
    }
  },
  'answers questions that nobody asked it': async ({ client }, t) => {
    for (const id of ['1', 1, 'ask-1', '__proto__', 'x'.repeat(1000), -1]) {
      t.equal((await client.post({ id, result: { action: 'accept' } })).status, 202)
      t.equal((await client.post({ id, error: { code: 1, message: 'no' } })).status, 202)
    }
  },
  'answers a question that was put to another': async ({ client }, t) => {
    const thief = new RawClient(client.url)
    await thief.initialize({ elicitation: {} })
    client.onAsk = async () => {
      for (let id = 0; id < 30; id += 1)
        await thief.post({ id, result: { action: 'accept', content: { by: 'thief' } } })
      return { action: 'decline' }
    }
    const args = {
      method: 'elicitation/create',
      params: { message: '?', requestedSchema: { type: 'object', properties: {} } },
    }
    t.equal(textOf(await client.call('ask', 'asking__ask', JSON.stringify(args))), '{"action":"decline"}')
    await thief.end()
  },
  'answers a question twice, and wrongly': async ({ client }, t) => {
    client.onAsk = () => ({ action: 'accept', content: {} })
    const args = {
      method: 'elicitation/create',
      params: { message: '?', requestedSchema: { type: 'object', properties: {} } },
    }
    const { heard, last } = await client.call('ask', 'asking__ask', JSON.stringify(args))
    const question: unknown = heard.find(({ message }) => message.method === 'elicitation/create')?.message.id
    t.match(textOf({ last } as never), /accept/)
    for (const result of [{ action: 'decline' }, null, 5]) {
      const { status } = await client.post({ id: question, result })
      t.equal(status, 202)
    }
  },
  'uses a session that ended': async ({ client }, t) => {
    const other = new RawClient(client.url)
    await other.initialize()
    await other.end()
    const late = new RawClient(client.url)
    late.session = other.session
    t.equal((await late.call(1, 'good__echo')).status, 404)
    t.equal(await late.end(), 404)
  },
  'ends sessions that are not there': async ({ client }, t) => {
    for (const session of ['x', '__proto__', 'y'.repeat(300)]) {
      const other = new RawClient(client.url)
      other.session = session
      t.equal(await other.end(), 404)
    }
  },
  'takes up streams that are not its own': async ({ client, daemon }, t) => {
    const id = { accept: 'text/event-stream', 'mcp-session-id': client.session ?? '' }
    for (const last of [
      '1',
      '99-1',
      '-1',
      '__proto__',
      'x'.repeat(200),
      'x'.repeat(5000),
      '1.1.1',
      '0x1',
      '9'.repeat(40),
    ]) {
      const response = await fetch(daemon.url, { headers: { ...id, 'last-event-id': last } })
      await response.body?.cancel()
      t.equal(response.status, 400, last.slice(0, 20))
    }
  },
  'opens its stream again and again': async ({ client, daemon }, t) => {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': client.session ?? '' }
    const aborts = Array.from({ length: 300 }, () => new AbortController())
    const all = await Promise.all(aborts.map(({ signal }) => fetch(daemon.url, { headers, signal })))
    t.ok(all.every(({ status }) => [200, 409, 429].includes(status)))
    for (const abort of aborts) abort.abort()
    t.equal(textOf(await client.call('after', 'good__echo', '{"a":1}')), '{"a":1}')
  },
  'opens a thousand sessions, and more over HTTP+SSE': async ({ daemon }, t) => {
    for (let n = 0; n < 20; n += 1) {
      const all = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const response = await fetch(daemon.url, {
            method: 'POST',
            headers: HEADERS,
            body: INITIALIZE_BODY,
          })
          await response.text()
          return response.status
        }),
      )
      t.ok(all.every(status => status === 200 || status === 503))
    }
    const abort = new AbortController()
    const streams = await Promise.all(
      Array.from({ length: 100 }, () =>
        fetch(daemon.sseUrl, { headers: { accept: 'text/event-stream' }, signal: abort.signal }),
      ),
    )
    t.ok(streams.every(({ status }) => status === 200 || status === 503))
    abort.abort()
  },
  'asks for more than may be under way': async ({ client, daemon }, t) => {
    const greedy = new WebSocket(daemon.wsUrl, 'mcp')
    await once(greedy, 'open')
    let overloaded = 0
    greedy.on('message', (data: Buffer) => {
      if (data.includes('"overloaded"')) overloaded += 1
    })
    greedy.send(INITIALIZE_BODY)
    await once(greedy, 'message')
    for (let id = 10; id < 1300; id += 1)
      greedy.send(request('{"name":"good__wait","arguments":{}}').replace('1', String(id)))
    greedy.ping()
    await once(greedy, 'pong')
    t.ok(overloaded >= 200, `${overloaded} were refused`)
    t.equal(textOf(await client.call('beside', 'good__echo', '{"a":1}')), '{"a":1}')
    greedy.terminate()
    await until(async () => (await daemon.status()).calls <= 1, 'the end of its calls')
  },
  'never reads its stream': async (target, t) => {
    const socket = await dial(target)
    socket.pause()
    const args = { values: Array.from({ length: 20_000 }, (_, n) => n), tag: 'x'.repeat(100) }
    const params = { name: 'good__progress', arguments: args, _meta: { progressToken: 1 } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'unread', method: 'tools/call', params })
    const lines = [
      ...JSON_LINES,
      `Mcp-Session-Id: ${target.client.session}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ]
    socket.write(head(target, lines) + body)
    // It is answered behind that: whoever waits for it waits for the flood.
    t.equal(textOf(await target.client.call('behind', 'good__echo', '{"a":2}')), '{"a":2}')
    socket.destroy()
  },
  'never reads its answers, one of 2 MB after another': async (target, t) => {
    const ws = new WebSocket(target.daemon.wsUrl, 'mcp')
    ws.on('error', () => undefined)
    await once(ws, 'open')
    ws.send(INITIALIZE_BODY)
    await once(ws, 'message')
    ws.pause()
    const big = request(`{"name":"good__echo","arguments":{"x":"${'x'.repeat(2e6)}"}}`)
    for (let id = 10; id < 13; id += 1) ws.send(big.replace('1', String(id)))
    t.equal(textOf(await target.client.call('beside', 'good__echo', '{"a":3}')), '{"a":3}')
    ws.terminate()
  },
  'vanishes in the middle of fifty calls': async ({ daemon }, t) => {
    const other = new RawClient(daemon.url)
    await other.initialize()
    for (let n = 0; n < 50; n += 1) void other.call(n, 'good__wait').catch(() => undefined)
    await until(async () => (await daemon.status()).calls >= 50, 'its calls')
    other.vanish()
    const back = new RawClient(daemon.url)
    back.session = other.session
    t.equal(await back.end(), 200)
    await until(async () => (await daemon.status()).calls <= 1, 'the end of its calls')
  },
}

t.test('clients that send nonsense get errors, and affect no other client', t => attacked(t, MESSAGES))

t.test('clients that violate the protocol harm only themselves', t => attacked(t, DEEDS))
