import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import { startProxy } from '../support/proxy/start.js'
import { startEverything } from '../support/server/started-server.js'

// The reference server has a tool that it calls only as a task, and that asks something in the course of it.

const INFO = { name: 'test', version: '1' }
const CAPABILITIES = { capabilities: { elicitation: { form: {} } } }
const ACCEPT = { action: 'accept' as const, content: { interpretation: 'technical' } }
const PARAMS = { name: 'e__simulate-research-query', arguments: { topic: 'python', ambiguous: true } }
const REPORT = { content: [{ text: /Research Report: python \(technical\)/ }] }

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
    const v2 = new ClientV2(INFO, { ...CAPABILITIES, versionNegotiation: { mode: 'auto' } })
    v2.setRequestHandler('elicitation/create', answer)
    await v2.connect(new HttpV2(new URL(url)))
    const { tools } = await v2.listTools()
    t.notOk(
      tools.some(tool => 'execution' in tool),
      'a client of 2026-07-28 is not told of them',
    )
    // At the same time: that over a pipe each question finds its person is due to the task that it names.
    const results = await Promise.all([v1.callTool(PARAMS), v2.callTool(PARAMS)])
    for (const result of results) t.match(result, REPORT)
    for (const result of results) t.notMatch(JSON.stringify(result), /related-task/)
    t.equal(asked, 2)
    await Promise.all([v1.close(), v2.close()])
  })

  t.test(`clients of the official SDK follow their tasks by themselves, over ${mode}`, async t => {
    const proxy = startProxy(t, { e: await startEverything(t, mode) })
    const { url } = await proxy.listen({ port: 0 })
    const follow = async () => {
      const asked: string[] = []
      const client = new ClientV1(INFO, CAPABILITIES)
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        asked.push(String(params._meta?.['io.modelcontextprotocol/related-task']?.taskId))
        return ACCEPT
      })
      await client.connect(new HttpV1(new URL(url)))
      t.match(client.getServerCapabilities(), { tasks: { cancel: {}, requests: { tools: { call: {} } } } })
      await client.listTools()
      const ids = new Set<string>()
      const progress: number[] = []
      const onprogress = (said: { progress: number }) => void progress.push(said.progress)
      let result: unknown
      for await (const said of client.experimental.tasks.callToolStream(PARAMS, undefined, { onprogress })) {
        if (said.type === 'taskCreated' || said.type === 'taskStatus') ids.add(said.task.taskId)
        else result = said
      }
      t.match(result, { type: 'result', result: REPORT })
      t.equal(ids.size, 1)
      t.match([...ids][0], /^t1\./)
      t.same(asked, [...ids], 'the question names the task')
      const [taskId = ''] = ids
      t.match(await client.experimental.tasks.getTask(taskId), { taskId, status: 'completed' })
      await client.close()
      return taskId
    }
    const [one, other] = await Promise.all([follow(), follow()])
    t.not(one, other)
  })
}
