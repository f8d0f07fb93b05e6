import assert from 'node:assert/strict'
import type { Loose } from '../../support/client/raw-client.js'
import { MODERN } from '../../support/era/codec.js'
import { ALIAS, type Flow, type Rig } from './rig.js'

const WAITS = 8
const URI = `${ALIAS}+file:///1`

/** How a call ended. */
const outcomeOf = async (call: Promise<unknown>): Promise<Loose> => {
  try {
    return { result: await call }
  } catch (error) {
    return { error }
  }
}

const assertLost = ({ error }: { error?: { code: number; message: string; data: object } }): void => {
  assert.equal(error?.code, -32603)
  assert.match(error?.message ?? '', new RegExp(`[Ss]erver ${ALIAS}\\b`))
  assert.equal((error?.data as { server?: string })?.server, ALIAS)
}

/** Calls that are under way at the server when this resolves. */
const startWaits = async ({ client, wire, key }: Rig): Promise<Promise<unknown>[]> => {
  const from = wire.heard.length
  const waits = Array.from({ length: WAITS }, () =>
    outcomeOf(client.callTool(`${ALIAS}__wait`, { key }, { onprogress: () => undefined })),
  )
  const begun = () =>
    wire.heard.slice(from).filter(({ method }) => method === 'notifications/progress').length
  await wire.hears(() => begun() === WAITS, from)
  return waits
}

/**
 * A client whose server is killed under load gets an error for each lost call that names the server; once it
 * is back, its level and subscription hold again, and the client has neither been disconnected nor has it
 * shaken hands anew.
 */
export const reconnect: Flow = {
  title: 'a server that dies under load comes back, and its clients stay',
  run: async rig => {
    const { pair, client, wire, server, json, call, sessions, isClosed } = rig
    await client.setLevel('warning')
    await client.subscribe(URI)
    await call('level')
    const { pid } = await json('state')
    const waits = await startWaits(rig)
    const load = Array.from({ length: WAITS }, (_, n) => outcomeOf(client.callTool(`${ALIAS}__echo`, { n })))
    const from = wire.heard.length
    await server.kill(pid)
    for (const outcome of await Promise.all(waits)) assertLost(outcome as Loose)
    for (const outcome of await Promise.all(load)) if ('error' in outcome) assertLost(outcome)
    await server.restart()
    // A subscriber is told that it may have missed something once its subscription is renewed.
    const { params } = await wire.hears(({ method }) => method === 'notifications/resources/updated', from)
    assert.equal(params.uri, URI)
    assert.equal(await call('level'), 'warning')
    const state = await json('state')
    assert.notEqual(state.pid, pid)
    assert.deepEqual(state.subscribed, ['file:///1'])
    assert.equal(await call('touch', { uri: 'file:///1' }), 'touched')
    assert.equal(isClosed(), false)
    if (pair.clientRevision === MODERN) return
    assert.equal(sessions() ?? 1, 1)
    assert.equal(wire.sent.filter(({ method }) => method === 'initialize').length, 1)
  },
}
