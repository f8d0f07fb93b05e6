import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { MODERN } from '../../support/era/codec.js'
import { ALIAS, type Flow, type Pair } from './rig.js'

/**
 * A client that calls a tool, reads a resource or fills in a prompt gets what the server gave, to the
 * character.
 */
export const call: Flow = {
  title: 'a tool is called, a resource read, a prompt filled in',
  run: async ({ client, json }) => {
    const args = { n: 1.5, text: 'é☃𝄞\u2028\n', list: [null, true, {}], deep: { a: [{ b: '' }] } }
    assert.deepEqual(await json('echo', args), args)
    const uri = `${ALIAS}+file:///4`
    assert.deepEqual((await client.readResource(uri)).contents, [{ uri, text: 'text of file:///4' }])
    const prompt = await client.getPrompt(`${ALIAS}__prompt-5`, { word: 'Ulm' })
    assert.deepEqual(prompt.messages[0]?.content, { type: 'text', text: 'prompt-5 Ulm' })
  },
}

/**
 * A client that completes an argument of a template gets the values of the server, which sees the URI as its
 * own.
 */
export const completion: Flow = {
  title: 'an argument is completed',
  run: async ({ pair, client }) => {
    // The SDK refuses to ask where the capability is missing, as it is in the oldest revision.
    if (pair.clientRevision < '2025-03-26') return
    const ref = { type: 'ref/resource', uri: `${ALIAS}+file:///t2/{path}` }
    const { completion } = await client.complete(ref, { name: 'path', value: 'x' })
    assert.deepEqual(completion.values, ['file:///t2/{path} x'])
  },
}

/**
 * A client hears every step of a call's progress once, in order, under its own token and before the answer.
 */
export const progress: Flow = {
  title: 'progress comes whole, in order and before the answer',
  run: async ({ client, wire }) => {
    const name = `${ALIAS}__progress`
    await client.callTool(name, { count: 50 }, { onprogress: () => undefined })
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
  },
}

/** Over HTTP, a client of 2026-07-28 cancels by going away, and so does the proxy towards a server. */
const isMute = (transport: string, revision: string): boolean =>
  transport.startsWith('http') && revision === MODERN

const reasonIn = ({ client, clientRevision }: Pair): object =>
  isMute(client, clientRevision) ? {} : { reason: 'enough' }

/**
 * A server hears of a cancelled call once, under its own id and with the client's reason where there is a way
 * to
 * say it; the client gets no answer to it.
 */
export const cancel: Flow = {
  title: 'a cancellation reaches the server once, under its own id, and nothing comes back',
  run: async ({ pair, client, wire, json, key }) => {
    const name = `${ALIAS}__wait`
    const from = wire.heard.length
    const stop = new AbortController()
    const { signal } = stop
    const ended = assert.rejects(client.callTool(name, { key }, { signal, onprogress: () => undefined }))
    await wire.hears(({ method }) => method === 'notifications/progress', from)
    stop.abort('enough')
    await ended
    const first = await json('cancels', { key })
    const [requestId] = first.ids
    const notices = isMute(pair.server, pair.serverRevision) ? [] : [{ requestId, ...reasonIn(pair) }]
    const said = first.notices.map(({ _meta, reason, ...rest }: { _meta: unknown; reason?: string }) => ({
      ...rest,
      ...('reason' in reasonIn(pair) && { reason }),
    }))
    assert.deepEqual(said, notices)
    assert.deepEqual([first.stopped, first.ids.length], [1, 1])
    assert.deepEqual(await json('cancels', { key }), first, 'nothing comes after it')
    assert.equal(wire.answerTo(wire.lastCall(name)).answer, undefined, 'the client gets no answer')
  },
}

/**
 * A client gets a server's error with the code, message and data of the server, and a tool's own failure as
 * a result. Since 2026-07-28 codes that the specification reserves are not passed on; what it was is in the
 * data.
 */
export const error: Flow = {
  title: 'errors pass as the server worded them',
  run: async ({ pair, client, wire }) => {
    const name = `${ALIAS}__fail`
    await assert.rejects(client.callTool(name))
    const { answer } = wire.answerTo(wire.lastCall(name))
    if (pair.clientRevision === MODERN) {
      assert.equal(answer?.error?.code, -32603)
      assert.equal(answer?.error?.message, 'it broke')
      assert.equal(answer?.error?.data.code, -32050)
    } else assert.deepEqual(answer?.error, { code: -32050, message: 'it broke', data: { part: ['x', 1] } })
    const { content, isError } = await client.callTool(`${ALIAS}__wrong`)
    assert.deepEqual({ content, isError }, { content: [{ type: 'text', text: 'try again' }], isError: true })
  },
}

const RESULT_BYTES = 4 * 1024 * 1024

/** A client gets a result of 4 MiB whole, whose characters take two, three and four bytes. */
export const largeResult: Flow = {
  title: 'a result of 4 MiB arrives',
  run: async ({ call }) => {
    const text = await call('large', { bytes: RESULT_BYTES })
    assert.ok(text === 'é☃𝄞'.repeat(Math.ceil(RESULT_BYTES / 9)), 'it is the same text')
  },
}

const MIB = 1024 * 1024

/** A server gets an argument of more than 1 MiB whole, whose characters take two, three and four bytes. */
export const largeArgument: Flow = {
  title: 'an argument of 1 MiB arrives',
  run: async ({ call }) => {
    const text = 'ä€𝄞'.repeat(MIB / 8)
    assert.equal(await call('digest', { text }), createHash('sha256').update(text).digest('hex'))
  },
}
