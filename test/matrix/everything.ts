import assert from 'node:assert/strict'
import t from 'tap'
import { ELICITED, SAMPLED } from '../support/client/sdk-client.js'
import { CLIENTS } from '../support/client/sdk-transports.js'
import { MODERN } from '../support/era/codec.js'
import { EVERYTHING, startEverything } from '../support/server/started-server.js'
import { ALIAS, connectClient } from './flows/rig.js'

type Connected = Awaited<ReturnType<typeof connectClient>>

/** An ordinary session with the reference server. */
const session = async ({ client, wire, asked, call }: Connected): Promise<void> => {
  assert.ok((await client.list('tools')).items.length > 0)
  assert.equal(await call('echo', { message: 'é☃' }), 'Echo: é☃')
  const from = { heard: wire.heard.length, sent: wire.sent.length }
  await client.callTool(
    `${ALIAS}__trigger-long-running-operation`,
    { duration: 0.05, steps: 4 },
    { onprogress: () => undefined },
  )
  const steps = wire.heard
    .slice(from.heard)
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => params.progress)
  // The server asks for roots when it likes. A call that waits for the answer keeps its latest progress only.
  const isRetried = wire.sent.slice(from.sent).filter(({ method }) => method === 'tools/call').length > 1
  const all = [1, 2, 3, 4]
  assert.deepEqual(steps, isRetried ? all.filter(step => step === 4 || steps.includes(step)) : all)
  const sampled = await client.callTool(`${ALIAS}__trigger-sampling-request`, { prompt: 'x', maxTokens: 5 })
  assert.ok(JSON.stringify(sampled).includes(SAMPLED.content.text))
  const elicited = await client.callTool(`${ALIAS}__trigger-elicitation-request`)
  assert.ok(JSON.stringify(elicited).includes(ELICITED.content.city))
  const methods = new Set(asked.map(({ method }) => method))
  assert.ok(methods.has('sampling/createMessage') && methods.has('elicitation/create'))
  const { items } = await client.list('resources')
  const uri = items[0]?.uri ?? ''
  assert.ok(uri.startsWith(`${ALIAS}+`))
  assert.equal((await client.readResource(uri)).contents[0]?.uri, uri)
  await client.setLevel('error')
  await client.ping()
}

// It starts many processes, on a machine that may have much else to do.
t.setTimeout(600_000)
for (const mode of EVERYTHING) {
  t.test(`the reference server in its mode ${mode}`, async t => {
    const entry = await startEverything(t, mode)
    for (const kind of CLIENTS) {
      await t.test(`a client over ${kind}`, async t => {
        const rig = await connectClient(t, kind, entry)
        await t.resolves(session(rig), 'has an ordinary session')
        if (kind === 'http') t.equal(rig.sessions(), 1)
      })
    }
    await t.test('a client of 2026-07-28 over http', async t => {
      const rig = await connectClient(t, 'http', entry, MODERN)
      await t.resolves(session(rig), 'has all of that without a session')
      t.equal(rig.sessions(), 0)
    })
  })
}
