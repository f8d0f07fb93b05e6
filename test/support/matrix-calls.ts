import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { ALIAS, ELICITED, type Flow, ROOTS, SAMPLED } from './matrix.js'

const MIB = 1024 * 1024

const call: Flow = async ({ client, json }) => {
  const args = { n: 1.5, text: 'é☃𝄞\u2028\n', list: [null, true, {}], deep: { a: [{ b: '' }] } }
  assert.deepEqual(await json('echo', args), args)
  const uri = `${ALIAS}+file:///4`
  assert.deepEqual((await client.readResource({ uri })).contents, [{ uri, text: 'text of file:///4' }])
  const prompt = await client.getPrompt({ name: `${ALIAS}__prompt-5`, arguments: { word: 'Ulm' } })
  assert.deepEqual(prompt.messages[0]?.content, { type: 'text', text: 'prompt-5 Ulm' })
}

const completion: Flow = async ({ pair, client }) => {
  // The SDK refuses to ask where the capability is missing, as it is in the oldest revision.
  if (pair.clientRevision < '2025-03-26') return
  const { completion } = await client.complete({
    ref: { type: 'ref/resource', uri: `${ALIAS}+file:///t2/{path}` },
    argument: { name: 'path', value: 'x' },
  })
  assert.deepEqual(completion.values, ['file:///t2/{path} x'])
}

const progress: Flow = async ({ client, wire }) => {
  const name = `${ALIAS}__progress`
  await client.callTool({ name, arguments: { count: 50 } }, undefined, { onprogress: () => undefined })
  const request = wire.lastCall(name)
  const { answer, before } = wire.answerTo(request)
  assert.equal(answer?.result.content[0].text, 'done')
  const told = before.filter(({ method }) => method === 'notifications/progress')
  assert.deepEqual(
    told.map(({ params }) => params),
    Array.from({ length: 50 }, (_, n) => ({
      progressToken: request?.params._meta.progressToken,
      progress: n + 1,
      total: 50,
    })),
  )
}

const cancel: Flow = async ({ client, wire, json }) => {
  const name = `${ALIAS}__wait`
  const from = wire.heard.length
  const stop = new AbortController()
  const { signal } = stop
  const ended = assert.rejects(
    client.callTool({ name, arguments: {} }, undefined, { signal, onprogress: () => undefined }),
  )
  await wire.hears(({ method }) => method === 'notifications/progress', from)
  stop.abort('enough')
  await ended
  const first = await json('cancels')
  const [waited] = first.waits
  assert.deepEqual(
    first.cancels.map(({ params }: { params: object }) => params),
    [{ requestId: waited, reason: 'enough' }],
  )
  assert.deepEqual(await json('cancels'), first, 'nothing comes after it')
  assert.equal(wire.answerTo(wire.lastCall(name)).answer, undefined, 'the client gets no answer')
}

const SAMPLING = {
  messages: [{ role: 'user', content: { type: 'text', text: 'Write a haiku' } }],
  maxTokens: 5,
  temperature: 0.5,
}

const sampling: Flow = async ({ json, asked }) => {
  assert.deepEqual(await json('ask', { method: 'sampling/createMessage', params: SAMPLING }), SAMPLED)
  assert.deepEqual(asked.splice(0), [{ method: 'sampling/createMessage', params: SAMPLING }])
}

const FORM = {
  message: 'Where?',
  requestedSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

const elicitation: Flow = async ({ pair, json, asked }) => {
  const answer = await json('ask', { method: 'elicitation/create', params: FORM })
  if (pair.clientRevision >= '2025-06-18') {
    assert.deepEqual(answer, ELICITED)
    assert.deepEqual(
      asked.splice(0).map(({ method }) => method),
      ['elicitation/create'],
    )
  } else {
    // It came with 2025-06-18: a client of an older revision cannot be asked, whatever it declares.
    assert.equal(answer.error.code, -32601)
    assert.deepEqual(asked, [])
  }
}

const roots: Flow = async ({ json, asked }) => {
  assert.deepEqual(await json('ask', { method: 'roots/list' }), { roots: ROOTS })
  assert.deepEqual(asked.splice(0), [{ method: 'roots/list' }])
}

const errors: Flow = async ({ client, wire }) => {
  const name = `${ALIAS}__fail`
  await assert.rejects(client.callTool({ name, arguments: {} }))
  const { answer } = wire.answerTo(wire.lastCall(name))
  assert.deepEqual(answer?.error, { code: -32050, message: 'it broke', data: { part: ['x', 1] } })
  assert.deepEqual(await client.callTool({ name: `${ALIAS}__wrong`, arguments: {} }), {
    content: [{ type: 'text', text: 'try again' }],
    isError: true,
  })
}

const largeResult: Flow = async ({ call }) => {
  const text = await call('large', { bytes: 4 * MIB })
  assert.ok(text === 'é☃𝄞'.repeat(Math.ceil((4 * MIB) / 9)), 'it is the same text')
}

const largeArgument: Flow = async ({ call }) => {
  const text = 'ä€𝄞'.repeat(MIB / 8)
  assert.equal(await call('digest', { text }), createHash('sha256').update(text).digest('hex'))
}

/** What is called, what is said and asked meanwhile, and how it ends. */
export const CALL_FLOWS: Readonly<Record<string, Flow>> = {
  'a tool is called, a resource read, a prompt filled in': call,
  'an argument is completed': completion,
  'progress comes whole, in order and before the answer': progress,
  'a cancellation reaches the server once, under its own id, and nothing comes back': cancel,
  'the server samples from the client': sampling,
  'the server asks the person at the client': elicitation,
  'the server learns the roots of the client': roots,
  'errors pass as the server worded them': errors,
  'a result of 4 MiB arrives': largeResult,
  'an argument of 1 MiB arrives': largeArgument,
}
