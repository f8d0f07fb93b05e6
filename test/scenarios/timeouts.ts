import t, { type Test } from 'tap'
import { RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { rawServer, startProxy } from '../support/proxy/start.js'

// Every wait for a server has an end that its own configuration sets, and the server hears of it.

/** A stdio server that leaves some methods unanswered, and says on stderr what it was sent. */
const SILENT = `
  const silent = process.argv.slice(1)
  const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  let rest = ''
  const seen = []
  process.stdin.on('data', chunk => {
    const lines = (rest + chunk).split('\\n')
    rest = lines.pop()
    for (const line of lines) {
      const { id, method, params } = JSON.parse(line)
      seen.push(method + ' ' + (params?.requestId ?? params?.name ?? ''))
      if (silent.includes(method) || silent.includes(params?.name)) {
        const token = params?._meta?.progressToken
        let progress = 0
        if (params?.arguments?.beat) setInterval(() => send({ method: 'notifications/progress', params: { progressToken: token, progress: progress += 1 } }), 50)
      }
      else if (method === 'initialize') send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } })
      else if (method === 'tools/list') send({ id, result: { tools: ['hang', 'seen'].map(name => ({ name, inputSchema: { type: 'object' } })) } })
      else if (method === 'tools/call') send({ id, result: { content: [{ type: 'text', text: JSON.stringify(seen) }] } })
      else if (id !== undefined) send({ id, error: { code: -32601, message: 'no' } })
    }
  })`

const silent = (timeouts: object, ...methods: string[]) => ({
  command: process.execPath,
  args: ['-e', SILENT, ...methods],
  era: 'legacy',
  timeouts,
})

const start = async (t: Test, server: object) => {
  const proxy = startProxy(t, { s: server, well: rawServer() }, { startupWait: '1s', listWaitMs: 1000 })
  const { url } = await proxy.listen({ port: 0 })
  const client = new RawClient(url)
  await client.initialize()
  return { proxy, client }
}

const textOf = (answer: { last: { message: { result?: { content?: { text: string }[] } } } }) =>
  answer.last.message.result?.content?.[0]?.text

t.test('a server that does not answer initialize in its time is not there, and is ended', async t => {
  const { proxy, client } = await start(t, silent({ initialize: '300ms' }, 'initialize'))
  const { last } = await client.call(1, 's__hang')
  t.match(last.message.error?.message ?? '', /[Nn]o answer to initialize within|Server s/)
  t.match(proxy.status().servers[0]?.lastError?.message ?? '', /No answer to initialize/)
  t.match(await client.call(2, 'well__echo', '{"a":1}').then(textOf), '{"a":1}')
})

t.test('a list that times out is left out, and its request is cancelled', async t => {
  const { proxy, client } = await start(t, silent({ list: '300ms' }, 'tools/list'))
  const { last } = await client.request('tools/list')
  const names = last.message.result.tools.map(({ name }: { name: string }) => name)
  t.ok(names.includes('well__echo'))
  t.notOk(names.some((name: string) => name.startsWith('s__')))
  t.ok(proxy.status().servers[0])
})

t.test('a call that is silent for too long ends with an error, and the server is told', async t => {
  const { client } = await start(t, silent({ call: '400ms' }, 'hang'))
  const { last } = await client.call(1, 's__hang')
  t.match(last.message.error, { code: -32603, data: { reason: 'timeout', server: 's' } })
  let seen: string[] = []
  await until(async () => {
    seen = JSON.parse(textOf(await client.call(2, 's__seen')) ?? '[]')
    return seen.some(line => line.startsWith('notifications/cancelled '))
  }, 'the cancellation')
  t.equal(seen.filter(line => line.startsWith('notifications/cancelled')).length, 1)
})

t.test('progress restarts the silence timeout, but never the total timeout', async t => {
  const { client } = await start(t, silent({ call: '1s', total: '5s' }, 'hang'))
  const answer = await client.call(1, 's__hang', '{"beat":true}', { progressToken: 'p' })
  t.match(answer.last.message.error, { data: { reason: 'timeout' } })
  const beats = answer.heard.filter(({ message }) => message.method === 'notifications/progress')
  t.ok(beats.length > 20, `${beats.length} signs of life, more than fit into the time of silence`)
  const seen: string[] = JSON.parse(textOf(await client.call(2, 's__seen')) ?? '[]')
  t.ok(seen.some(line => line.startsWith('notifications/cancelled')))
})
