import t from 'tap'
import type { Loose } from '../support/client/raw-client.js'
import { clientEnvelope } from '../support/era/codec.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import type { Json } from '../support/match.js'
import { serveHttpClients } from '../support/proxy/listeners.js'
import { createMux } from '../support/proxy/router.js'
import { ScriptedServer } from '../support/server/scripted-server.js'
import { FakeResponder, httpRequest } from '../support/wire/fake-http.js'
import { planOf } from '../vectors/play/plan.js'

const FORM = {
  mode: 'form',
  message: 'Seat?',
  requestedSchema: { type: 'object', properties: { seat: { type: 'string' } } },
}
const ANSWER = { action: 'accept', content: { seat: '12A' } }
const REFUSED = { code: -32602, message: 'Invalid or expired requestState' }
const PARK_MS = 600_000
const RELAY_MS = 3_600_000

/** A server that has one tool, `x`, behind the HTTP endpoint; users are told apart by their addresses. */
const start = async (serverRevision: 'R3' | 'R5') => {
  const clock = new FakeClock()
  const vector = { rule: '', client: 'R5', server: serverRevision, note: undefined, steps: [], isOpen: true }
  const server = new ScriptedServer(planOf(vector, 'a'), clock)
  const router = createMux(['a'], {
    clock,
    isIsolated: false,
    dial: (_name, greeting, listener, signal) => server.dial(greeting, listener, signal),
  })
  const host = serveHttpClients(router, clock)
  let ids = 0
  /** Calls the tool; the answer is in the result. */
  const call = async (params: object = {}, from = '127.0.0.1') => {
    ids += 1
    const body = {
      id: ids,
      method: 'tools/call',
      params: {
        name: 'a__x',
        arguments: { d: 'fri' },
        ...params,
        _meta: clientEnvelope({ elicitation: { form: {} } }),
      },
    }
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': body.params.name,
    }
    const responder = new FakeResponder()
    host.handle(httpRequest('POST', headers, body, from), responder)
    await settled()
    return responder
  }
  const answerOf = (responder: FakeResponder): Loose =>
    responder.isStream ? responder.messages.at(-1) : responder.json
  /** A call whose server asks for a seat; what the client gets, and the call as the server has it. */
  const ask = async () => {
    const responder = await call()
    const { message } = server.take()
    if (serverRevision === 'R5')
      server.say({
        id: message['id'],
        result: {
          resultType: 'input_required',
          inputRequests: { q: { method: 'elicitation/create', params: FORM } },
          requestState: 'own state',
        },
      })
    else server.say({ id: 'q', method: 'elicitation/create', params: FORM })
    await settled()
    clock.advance(20)
    await settled()
    const { inputRequests, requestState } = answerOf(responder).result
    const [key = ''] = Object.keys(inputRequests)
    return { retry: { inputResponses: { [key]: ANSWER }, requestState }, id: message['id'] }
  }
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await settled()
  }
  const close = async (): Promise<void> => {
    host.close()
    await router.close()
  }
  return { server, call, answerOf, ask, pass, close }
}

const withoutMeta = ({ params, ...rest }: Json): Json => {
  const { _meta, ...own } = params as Json
  return { ...rest, params: own }
}

for (const revision of ['R3', 'R5'] as const) {
  const era = revision === 'R3' ? 'an older server' : 'a server of 2026-07-28'

  t.test(`what a client brings back to ${era} counts once it is its own, and only then`, async t => {
    const { server, call, answerOf, ask, close } = await start(revision)
    const { retry, id } = await ask()
    const { requestState } = retry
    for (let at = 0; at < requestState.length; at += 7) {
      const other = requestState[at] === 'A' ? 'B' : 'A'
      const forged = requestState.slice(0, at) + other + requestState.slice(at + 1)
      t.match(answerOf(await call({ ...retry, requestState: forged })).error, REFUSED, `forged at ${at}`)
    }
    t.match(answerOf(await call(retry, '10.0.0.9')).error, REFUSED, 'of another user')
    t.match(answerOf(await call({ ...retry, arguments: { d: 'sat' } })).error, REFUSED, 'for other arguments')
    t.same(server.waiting, [], 'the server hears nothing of all this')

    const responder = await call(retry)
    const { message } = server.take()
    if (revision === 'R3') t.match(message, { id: 'q', result: ANSWER })
    else
      t.match(withoutMeta(message), {
        method: 'tools/call',
        params: {
          name: 'x',
          arguments: { d: 'fri' },
          inputResponses: { q: ANSWER },
          requestState: 'own state',
        },
      })
    server.say({ id: revision === 'R3' ? id : message['id'], result: RESULTS[revision] })
    await settled()
    t.match(answerOf(responder).result, { resultType: 'complete', content: [{ text: 'booked' }] })
    if (revision === 'R3') {
      t.match(answerOf(await call(retry)).error, { code: -32602 }, 'a second time')
      t.same(server.waiting, [], 'the tool is not called again')
    }
    await close()
  })
}

const RESULTS = {
  R3: { content: [{ type: 'text', text: 'booked' }] },
  R5: { resultType: 'complete', content: [{ type: 'text', text: 'booked' }] },
}

t.test('an abandoned call is cancelled at its server, and then its question is', async t => {
  const { server, call, answerOf, ask, pass, close } = await start('R3')
  const { retry, id } = await ask()
  await pass(PARK_MS)
  t.match(server.take().message, { method: 'notifications/cancelled', params: { requestId: id } })
  t.match(server.take().message, { id: 'q', result: { action: 'cancel' } })
  t.match(answerOf(await call(retry)).error, { code: -32602 })
  t.same(server.waiting, [])
  await close()
})

t.test('what a server of 2026-07-28 wanted to know is forgotten after an hour', async t => {
  const { server, call, answerOf, ask, pass, close } = await start('R5')
  const { retry } = await ask()
  await pass(RELAY_MS + 1000)
  t.match(answerOf(await call(retry)).error, REFUSED)
  t.same(server.waiting, [])
  await close()
})
