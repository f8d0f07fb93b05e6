import t from 'tap'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { rawServer, startProxy } from '../support/proxy/start.js'

const json = (answer: { last: { message: { result?: Loose } } }) =>
  JSON.parse(answer.last.message.result.content[0].text)

t.test('two clients with the same ids and tokens on one server get each their own, 10,000 times', async t => {
  const proxy = startProxy(t, { a: rawServer('a') })
  const { url } = await proxy.listen({ port: 0 })
  const clients = [new RawClient(url), new RawClient(url)]
  for (const client of clients) await client.initialize()
  const pids = await Promise.all(clients.map(async client => (await client.call('pid', 'a__pid')).last.text))
  t.equal(pids[0], pids[1], 'both are served by one process')
  let wrong = 0
  const rounds = 5000
  const lanes = 32
  await Promise.all(
    clients.map(async (client, who) => {
      for (let at = 0; at < rounds; at += lanes) {
        await Promise.all(
          Array.from({ length: Math.min(lanes, rounds - at) }, async (_, lane) => {
            const id = lane
            const tag = `${who}-${at + lane}`
            const withProgress = (at + lane) % 10 === 0
            const answer = withProgress
              ? await client.call(id, 'a__progress', `{"tag":"${tag}","values":[1,2]}`, { progressToken: id })
              : await client.call(id, 'a__echo', `{"tag":"${tag}"}`)
            const { last, heard } = answer
            const words = last.message.result?.content[0].text
            const expected = withProgress ? tag : `{"tag":"${tag}"}`
            const notices = heard.slice(0, -1)
            const isRight =
              last.message.id === id &&
              words === expected &&
              notices.length === (withProgress ? 2 : 0) &&
              notices.every(
                ({ message }) => message.params.progressToken === id && message.params.message === tag,
              )
            if (!isRight) wrong += 1
          }),
        )
      }
    }),
  )
  t.equal(wrong, 0, 'nothing crossed, lost, doubled or late')
})

t.test('what need not change arrives byte for byte in both directions', async t => {
  const proxy = startProxy(t, { a: rawServer('a') })
  const { url } = await proxy.listen({ port: 0 })
  const client = new RawClient(url)
  await client.initialize()
  const args = '{"n":12345678901234567890,"x":1.0,"y":1e400,"z":-0,"é":"\\u00e9 \\ud83d","a":{"b":[1E+2,{}]}}'
  const { last } = await client.call(1, 'a__raw', args)
  t.ok(last.text.includes(`"structuredContent":${args}`), 'arguments and result')
  t.ok(last.text.includes(`"vendor":${args}`), 'members that nobody knows')
  const list = await client.request('tools/list')
  t.match(
    list.last.text,
    /"inputSchema":\{"type":"object","properties":\{"n":\{"maximum":9223372036854775807\}\}\},"x-unknown":1\.0\}/,
  )
})

t.test('a cancel reaches exactly one server once, with the id of that server', async t => {
  const proxy = startProxy(t, { a: rawServer('a'), b: rawServer('b') })
  const { url } = await proxy.listen({ port: 0 })
  const [one, other] = [new RawClient(url), new RawClient(url)]
  await one.initialize()
  await other.initialize()
  const waits = one.call(7, 'a__wait', '{"key":"mine"}')
  const others = other.call(7, 'a__wait', '{"key":"theirs"}')
  const seenCalls = async () => json(await other.call('s', 'a__seen')).map((line: string) => JSON.parse(line))
  let calls: { id: number; method: string; params: Loose }[] = []
  while (calls.length < 2) {
    calls = (await seenCalls()).filter((message: Loose) => message.params?.name === 'wait')
  }
  await one.post({ method: 'notifications/cancelled', params: { requestId: 7, reason: 'enough' } })
  const { heard } = await waits
  t.same(heard, [], 'a cancelled request gets no answer')
  const id = calls.find(({ params }) => params.arguments.key === 'mine')?.id
  const cancels = async (server: string) =>
    json(await other.call('s', `${server}__seen`))
      .map((line: string) => JSON.parse(line))
      .filter((message: Loose) => message.method === 'notifications/cancelled')
  t.same(await cancels('a'), [
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: 'enough' } },
  ])
  t.same(await cancels('b'), [])
  await other.call('r', 'a__release', '{"key":"theirs"}')
  t.equal((await others).last.message.result.content[0].text, 'released', 'the other client did not notice')
})

t.test('a question reaches the client whose call it is, on the stream of that call', async t => {
  const proxy = startProxy(t, { a: rawServer('a'), b: rawServer('b') })
  const { url } = await proxy.listen({ port: 0 })
  const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } }
  const [one, other] = [new RawClient(url), new RawClient(url)]
  await one.initialize(capabilities)
  await other.initialize(capabilities)
  const asked: string[] = []
  one.onAsk = (method, params) => {
    asked.push(`one ${method} ${JSON.stringify(params ?? null)}`)
    return method === 'roots/list'
      ? { roots: [{ uri: 'file:///one' }, { uri: 'https://no.example' }] }
      : { action: 'accept', content: { n: 12 }, model: 'm', role: 'assistant' }
  }
  other.onAsk = method => {
    asked.push(`other ${method}`)
    return {}
  }
  const elicited = await one.call(1, 'a__ask', '{"method":"elicitation/create","params":{"message":"?"}}')
  t.match(json(elicited), { action: 'accept', content: { n: 12 } })
  t.equal(elicited.heard[0]?.message.method, 'elicitation/create', 'it came on the stream of the call')
  t.match(elicited.heard[0]?.message.id, /^[\w-]{22}$/, 'under an id that nobody can guess')
  t.same(json(await one.call(2, 'a__ask', '{"method":"roots/list"}')), { roots: [{ uri: 'file:///one' }] })
  t.match(
    json(
      await one.call(
        3,
        'b__ask',
        '{"method":"sampling/createMessage","params":{"messages":[],"includeContext":"allServers"}}',
      ),
    ),
    { model: 'm' },
  )
  t.match(asked.at(-1), /^one sampling\/createMessage (?!.*includeContext)/)
  const noisy = other.call(4, 'a__wait', '{"key":"k"}')
  const refused = json(
    await one.call(5, 'a__ask', '{"method":"elicitation/create","params":{"message":"whose?"}}'),
  )
  t.match(refused, { error: { code: -32602 } }, 'with calls of two clients under way it cannot be known')
  await other.call(6, 'a__release', '{"key":"k"}')
  await noisy
  t.notOk(
    asked.some(line => line.startsWith('other')),
    'nobody else saw anything',
  )
})

t.test('three servers with 1,000 tools each are listed once each, over a restart between pages', async t => {
  const servers = {
    a: rawServer('a', '2025-11-25', '1000', '7'),
    b: rawServer('b', '2025-06-18', '1000', '100'),
    c: rawServer('c', '2024-11-05', '1000', '999'),
  }
  let proxy = startProxy(t, servers, { pageSize: 400 })
  let { url } = await proxy.listen({ port: 0 })
  let client = new RawClient(url)
  await client.initialize()
  const names: string[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const { result } = (await client.request('tools/list', cursor === undefined ? {} : { cursor })).last
      .message
    names.push(...result.tools.map((tool: { name: string }) => tool.name))
    cursor = result.nextCursor
    pages += 1
    if (pages === 3) {
      await proxy.close()
      proxy = startProxy(t, servers, { pageSize: 400 })
      url = (await proxy.listen({ port: 0 })).url
      client = new RawClient(url)
      await client.initialize()
    }
  } while (cursor !== undefined)
  t.equal(names.length, 3 * 1013)
  t.equal(new Set(names).size, names.length)
  t.equal(pages, 8)
  for (const invented of ['bogus', '', Buffer.from('{"v":1}').toString('base64url')]) {
    t.equal((await client.request('tools/list', { cursor: invented })).last.message.error.code, -32602)
  }
})

t.test('URIs of three servers that own the same ones round-trip, with subscriptions and updates', async t => {
  const proxy = startProxy(t, { a: rawServer('a'), b_2: rawServer('b'), C: rawServer('c') })
  const { url } = await proxy.listen({ port: 0 })
  const [client, bystander] = [new RawClient(url), new RawClient(url)]
  await client.initialize()
  await bystander.initialize()
  await client.listen()
  await bystander.listen()
  const { resources } = (await client.request('resources/list')).last.message.result
  t.same(
    resources.map((resource: { uri: string }) => resource.uri),
    ['a', 'b.2', 'C'].flatMap((alias, at) => [
      `${alias}+file:///a`,
      `${alias}+urn:${['a', 'b', 'c'][at]}:1`,
      `ui://${alias}+widget`,
    ]),
  )
  for (const { uri } of resources) {
    const { contents } = (await client.request('resources/read', { uri })).last.message.result
    t.equal(contents[0].uri, uri)
  }
  const own = (await client.request('resources/read', { uri: 'b.2+file:///a' })).last.message.result
    .contents[0]
  t.equal(own.text, 'b read file:///a')
  const ambiguous = (await client.request('resources/read', { uri: 'file:///a' })).last.message.error
  t.equal(ambiguous.code, -32602)
  t.match(ambiguous.message, /a\+file:\/\/\/a.*b\.2\+file:\/\/\/a.*C\+file:\/\/\/a/)
  t.equal(
    (await client.request('resources/read', { uri: 'urn:c:1' })).last.message.result.contents[0].uri,
    'C+urn:c:1',
  )
  const { resourceTemplates } = (await client.request('resources/templates/list')).last.message.result
  t.equal(resourceTemplates[1].uriTemplate, 'b.2+file:///{path}')
  const completion = await client.request('completion/complete', {
    ref: { type: 'ref/resource', uri: 'C+file:///{path}' },
    argument: { name: 'path', value: 'x' },
  })
  t.same(completion.last.message.result.completion.values, ['c:file:///{path}:x'])
  for (const alias of ['a', 'C']) {
    t.same(
      (await client.request('resources/subscribe', { uri: `${alias}+file:///a` })).last.message.result,
      {},
    )
  }
  for (const alias of ['a', 'b_2', 'C']) await client.call(alias, `${alias}__touch`, '{"uri":"file:///a"}')
  await client.ambientIs(({ message }) => message.params?.uri === 'C+file:///a')
  const updates = client.ambient.filter(({ message }) => message.method === 'notifications/resources/updated')
  t.same(
    updates.map(({ message }) => message.params.uri),
    ['a+file:///a', 'C+file:///a'],
  )
  t.same(bystander.ambient, [], 'nobody else hears of it')
})
