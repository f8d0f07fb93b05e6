import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { RawClient } from '../support/client/raw-client.js'
import { endWith, OWN_GROUP } from '../support/processes.js'
import { startProxy } from '../support/proxy/start.js'

const DUAL = fileURLToPath(new URL('../conformance/dual-server.mjs', import.meta.url))

/** The official fixture of both eras behind a URL. */
const startHttp = async (t: Test): Promise<string> => {
  const child: ChildProcess = spawn(process.execPath, [DUAL, 'http'], {
    ...OWN_GROUP,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  endWith(t, child)
  if (child.stdout === null) throw new Error('it has no stdout')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('it did not start')
}

/** A session that answers what it is asked with a sample. */
const connectOlder = async (t: Test, url: string): Promise<RawClient> => {
  const client = new RawClient(url)
  client.onAsk = () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'a sample' } })
  await client.initialize({ sampling: {} })
  t.teardown(() => client.vanish())
  return client
}

const connectNewer = async (t: Test, url: string): Promise<Client> => {
  const client = new Client(
    { name: 'newer', version: '1' },
    { capabilities: { sampling: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.teardown(() => client.close())
  return client
}

for (const kind of ['stdio', 'http'] as const) {
  for (const first of ['older', 'newer'] as const) {
    t.test(
      `clients of both eras have what a server over ${kind} has for each, ${first} ones first`,
      async t => {
        const entry =
          kind === 'http'
            ? { url: await startHttp(t), sharing: 'principal' }
            : { command: process.execPath, args: [DUAL] }
        const proxy = startProxy(t, { d: entry })
        const { url } = await proxy.listen({ port: 0 })
        const sample = async (client: RawClient): Promise<string> => {
          const { last } = await client.call(1, 'd__test_sampling', '{"prompt":"p"}')
          return last.message.result?.content?.[0].text
        }
        const viaNewer = async (): Promise<void> => {
          const client = await connectNewer(t, url)
          t.match(await client.callTool({ name: 'd__test_simple_text', arguments: {} }), { content: [{}] })
        }
        const viaOlder = async (): Promise<void> => {
          const client = await connectOlder(t, url)
          // In its other era the server can ask nobody.
          t.equal(await sample(client), 'LLM response: a sample')
        }
        const ways = first === 'older' ? [viaOlder, viaNewer] : [viaNewer, viaOlder]
        for (const [index, way] of [...ways, ...ways].entries()) {
          await way()
          const { connections, pids } = proxy.status().servers[0] ?? {}
          t.equal(connections, Math.min(index + 1, 2), 'one more where it is needed, and no more')
          t.equal(pids?.length, kind === 'stdio' ? connections : 0)
        }
      },
    )
  }
}
