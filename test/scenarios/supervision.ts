import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { type Answer, type Loose, RawClient } from '../support/client/raw-client.js'
import { KILLED, until } from '../support/processes.js'
import { rawServer, startProxy } from '../support/proxy/start.js'

// Servers as real processes that are killed, or end by themselves, behind a real endpoint.

const RAW = fileURLToPath(new URL('../fixtures/raw-server.mjs', import.meta.url))

const introduced = async (url: string): Promise<RawClient> => {
  const client = new RawClient(url)
  await client.initialize()
  await client.listen()
  return client
}

const textOf = ({ last }: Answer): string => String(last.message.result?.content?.[0]?.text)

/** What an ambient stream was told of lists. */
const listNews = (client: RawClient): string[] =>
  client.ambient.flatMap(({ message: { method } }) => (method?.endsWith('list_changed') ? [method] : []))

t.test('a program that is killed repeatedly during calls costs only the calls in flight', async t => {
  const proxy = startProxy(t, { raw: rawServer() })
  const { url } = await proxy.listen({ port: 0 })
  const clients = await Promise.all([1, 2, 3].map(() => introduced(url)))
  const [client = new RawClient('')] = clients
  await client.request('tools/list')
  await client.request('logging/setLevel', { level: 'debug' })
  await client.request('resources/subscribe', { uri: 'raw+file:///a' })
  let last = 0
  for (let kill = 1; kill <= 10; kill += 1) {
    const pid = Number(textOf(await client.call(`pid ${kill}`, 'raw__pid')))
    t.not(pid, last)
    last = pid
    const calls = clients.flatMap((one, who) =>
      [1, 2, 3, 4].map(n => one.call(`${who}-${kill}-${n}`, 'raw__wait')),
    )
    await Promise.all(clients.map((one, who) => one.call(`echo ${who} ${kill}`, 'raw__echo')))
    process.kill(pid, 'SIGKILL')
    for (const { heard } of await Promise.all(calls)) {
      t.equal(heard.length, 1, 'each has one answer')
      t.match(heard[0]?.message.error, {
        code: -32603,
        message: `Server raw: ${KILLED}`,
        data: { reason: 'server_exited', server: 'raw', retryAfterMs: 0 },
      })
    }
    // Neither repeated nor waited for: the next call is enough.
    const next = await Promise.all(clients.map((one, who) => one.call(`next ${who} ${kill}`, 'raw__echo')))
    for (const answer of next) t.same(textOf(answer), '{}')
  }
  const seen: string[] = JSON.parse(textOf(await client.call('seen', 'raw__seen')))
  const methods = seen.map(line => (JSON.parse(line) as { method: string }).method)
  for (const method of ['initialize', 'notifications/initialized', 'logging/setLevel', 'resources/subscribe'])
    t.equal(methods.filter(one => one === method).length, 1, `the last of them got ${method}`)
  await client.call('touch', 'raw__touch', '{"uri":"file:///a"}')
  await client.ambientIs(({ message }) => message.method === 'notifications/resources/updated')
  t.same(clients.flatMap(listNews), [], 'its lists are what they were')
  t.match(proxy.status().servers, [{ name: 'raw', state: 'ready', failures: 0 }])
})

t.test('a program that restarts with other tools causes one notification', async t => {
  const file = join(t.testdir(), 'tools')
  writeFileSync(file, '1')
  const script = `
    process.argv.splice(2, 0, 'raw', '2025-11-25', (await import('node:fs')).readFileSync(${JSON.stringify(file)}, 'utf8'))
    await import(${JSON.stringify(pathToFileURL(RAW).href)})`
  const command = { command: process.execPath, args: ['--input-type=module', '-e', script, 'x'] }
  const proxy = startProxy(t, { raw: command, other: rawServer() })
  const client = await introduced((await proxy.listen({ port: 0 })).url)
  const names = async (): Promise<string[]> =>
    (await client.request('tools/list')).last.message.result.tools.map(({ name }: { name: string }) => name)
  const before = await names()
  writeFileSync(file, '2')
  process.kill(Number(textOf(await client.call(1, 'raw__pid'))), 'SIGKILL')
  await client.ambientIs(({ message }) => message.method === 'notifications/tools/list_changed')
  const after = await names()
  t.same(
    after.filter(name => !before.includes(name)),
    ['raw__tool-1'],
  )
  t.match(await client.call(2, 'raw__echo'), { last: { message: { result: {} } } })
  t.same(listNews(client), ['notifications/tools/list_changed'])
})

/** Says how often it was started, and ends. */
const dying = (t: Test, more: object = {}) => {
  const file = join(t.testdir(), 'starts')
  writeFileSync(file, '')
  const script = `
    const { appendFileSync, existsSync } = await import('node:fs')
    if (existsSync(${JSON.stringify(`${file}.fixed`)})) await import(${JSON.stringify(pathToFileURL(RAW).href)})
    else {
      appendFileSync(${JSON.stringify(file)}, '.')
      console.error('cannot open \\u001b[31mdata\\u0000base with ' + process.env.API_TOKEN)
      console.error('giving up')
      process.exit(3)
    }`
  return {
    starts: () => readFileSync(file, 'utf8').length,
    fix: () => writeFileSync(`${file}.fixed`, ''),
    entry: {
      command: process.execPath,
      args: ['--input-type=module', '-e', script],
      env: { API_TOKEN: 'hunter2hunter2' },
      restart: { first: '100ms', max: '100ms', failures: 3, retry: '1h' },
      ...more,
    },
  }
}

t.test('a program in a crash loop is given up with its last words, and fixed by a call', async t => {
  const { entry, starts, fix } = dying(t)
  const proxy = startProxy(t, { dies: entry, good: rawServer() }, { startupWait: '1s' })
  const client = await introduced((await proxy.listen({ port: 0 })).url)
  const state = () => proxy.status().servers.find(({ name }) => name === 'dies')
  await until(() => state()?.state === 'failed', 'the end of the loop')
  // Each attempt of one that may not know the question what it speaks starts it twice.
  t.equal(starts(), 6)
  const { error } = (await client.call(1, 'dies__x')).last.message
  t.match(error, {
    code: -32603,
    message: /^Server dies is not reachable: exited with code 3 \(given up after 3 failures within 60 s; /,
    data: { reason: 'server_failed', server: 'dies', stderr: ['cannot open database with ***', 'giving up'] },
  })
  t.match(
    error.message,
    /it last wrote to stderr:\ncannot open database with \*\*\*\ngiving up \([a-z0-9]{4}-[a-z0-9]+\)$/,
  )
  t.ok(error.data.retryAfterMs > 0 && error.data.retryAfterMs <= 5000)
  t.match(state(), {
    why: 'exited with code 3',
    stderr: ['cannot open database with ***', 'giving up'],
    failures: 3,
  })
  t.match(await client.call(2, 'good__echo'), { last: { message: { result: {} } } })
  t.equal(starts(), 6, 'nobody starts it meanwhile')
  fix()
  await until(async () => {
    const { last } = await client.call(`again ${Math.random()}`, 'dies__echo')
    return last.message.result !== undefined
  }, 'the call that fixes it')
  t.match(state(), { state: 'ready', failures: 0 })
})

/** What is asked of each new session of a server. */
const LISTS = ['tools/list', 'resources/list', 'resources/templates/list']

/** A server over Streamable HTTP that can forget its sessions, as one that was deployed anew does. */
const forgetful = async (t: Test) => {
  const got: string[] = []
  const state = { session: 1 }
  const results: Record<string, object> = {
    'tools/list': { tools: [{ name: 'x', inputSchema: { type: 'object' } }] },
    'resources/list': { resources: [{ uri: 'r:1', name: 'r' }] },
    'resources/templates/list': { resourceTemplates: [] },
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, logging: {}, resources: { subscribe: true } },
      serverInfo: { name: 'forgetful', version: '1' },
    },
  }
  const answer = (id: unknown, method: string): string =>
    JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? { content: [] } })
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { id, method = '' } = JSON.parse(body || '{}') as { id?: unknown; method?: string }
    const session = `s${state.session}`
    const isLost = method !== 'initialize' && request.headers['mcp-session-id'] !== session
    const headers = { 'content-type': 'application/json', 'mcp-session-id': session }
    if (request.method !== 'POST') response.writeHead(405).end()
    else if (method === 'server/discover') response.writeHead(400).end()
    else if (isLost) response.writeHead(404).end()
    else {
      got.push(method)
      if (id === undefined) response.writeHead(202).end()
      else response.writeHead(200, headers).end(answer(id, method))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const forget = (): void => {
    state.session += 1
    got.length = 0
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, got, forget }
}

t.test('a session that a server has forgotten is begun again, and no client notices', async t => {
  const server = await forgetful(t)
  const proxy = startProxy(t, { far: { url: server.url, type: 'http', sharing: 'principal' } })
  const client = await introduced((await proxy.listen({ port: 0 })).url)
  await client.request('tools/list')
  await client.request('logging/setLevel', { level: 'debug' })
  await client.request('resources/subscribe', { uri: 'far+r:1' })
  const count = (method: string): number => server.got.filter(one => one === method).length
  for (let time = 1; time <= 3; time += 1) {
    t.match(await client.call(time, 'far__x'), { last: { message: { result: {} } } })
    // What else is on its way when the session is lost may have been processed: that ends with an error.
    await until(() => LISTS.every(method => count(method) > 0), 'its lists')
    server.forget()
    t.match(await client.call(`after ${time}`, 'far__x'), { last: { message: { result: {} } } })
    const isTold = () => count('resources/subscribe') > 0 && count('logging/setLevel') > 0
    await until(isTold, 'what it is told again')
    for (const method of ['initialize', 'tools/call', 'resources/subscribe', 'logging/setLevel'])
      t.equal(count(method), 1, method)
  }
  t.same(listNews(client), [])
  t.match(proxy.status().servers as Loose, [{ state: 'ready', failures: 0 }])
})

t.test('a tool that always ends its program stops affecting the calls of others', async t => {
  const proxy = startProxy(t, { raw: rawServer() })
  const client = await introduced((await proxy.listen({ port: 0 })).url)
  for (let time = 1; time <= 8; time += 1) {
    const poison = await client.call(`p ${time}`, 'raw__exit')
    t.match(poison.last.message.error, { code: -32603, data: { reason: 'server_exited', server: 'raw' } })
    t.match(await client.call(`e ${time}`, 'raw__echo'), { last: { message: { result: {} } } })
  }
  t.match(proxy.status().servers as Loose, [{ state: 'ready', failures: 0 }])
})
