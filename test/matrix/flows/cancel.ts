import assert from 'node:assert/strict'
import { ALIAS, type Flow, MODERN, type Pair } from '../../support/matrix.js'

/** Over HTTP, a client of 2026-07-28 cancels by going away, and so does the proxy towards a server. */
const isMute = (transport: string, revision: string): boolean =>
  transport.startsWith('http') && revision === MODERN

const reasonIn = ({ client, clientRevision }: Pair): object =>
  isMute(client, clientRevision) ? {} : { reason: 'enough' }

/**
 * A server hears of a cancelled call once, under its own id and with the client's reason where there is a way to
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
