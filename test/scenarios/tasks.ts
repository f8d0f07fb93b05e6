import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { startProxy } from '../support/proxy/start.js'
import { startEverything } from '../support/server/started-server.js'

// The reference server has a tool that it calls only as a task, and that asks something in the course of it.
// The clients know nothing of tasks.

const INFO = { name: 'test', version: '1' }
const CAPABILITIES = { capabilities: { elicitation: { form: {} } } }
const ACCEPT = { action: 'accept' as const, content: { interpretation: 'technical' } }
const PARAMS = { name: 'e__simulate-research-query', arguments: { topic: 'python', ambiguous: true } }

for (const mode of ['stdio', 'streamableHttp'] as const) {
  t.test(`a tool that wants to be a task is a call like any other, over ${mode}`, async t => {
    const proxy = startProxy(t, { e: await startEverything(t, mode) })
    const { url } = await proxy.listen({ port: 0 })
    let asked = 0
    const answer = () => {
      asked += 1
      return ACCEPT
    }
    const v1 = new ClientV1(INFO, CAPABILITIES)
    v1.setRequestHandler(ElicitRequestSchema, answer)
    await v1.connect(new HttpV1(new URL(url)))
    const { tools } = await v1.listTools()
    t.notOk(
      tools.some(tool => 'execution' in tool),
      'nobody is told of tasks',
    )
    const v2 = new ClientV2(INFO, { ...CAPABILITIES, versionNegotiation: { mode: 'auto' } })
    v2.setRequestHandler('elicitation/create', answer)
    await v2.connect(new HttpV2(new URL(url)))
    // At the same time: that over a pipe each question finds its person is due to the task that it names.
    const results = await Promise.all([v1.callTool(PARAMS), v2.callTool(PARAMS)])
    for (const result of results)
      t.match(result, { content: [{ text: /Research Report: python \(technical\)/ }] })
    for (const result of results) t.notMatch(JSON.stringify(result), /related-task/)
    t.equal(asked, 2)
    await Promise.all([v1.close(), v2.close()])
  })
}
