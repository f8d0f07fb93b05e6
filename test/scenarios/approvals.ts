import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { EraClient } from '../support/client/era-client.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { configFile, runHere, startBin, tiny } from '../support/proxy/start.js'
import { startServer } from '../support/server/started-server.js'

const FORM = { elicitation: { form: {} } }
const ONCE = { action: 'accept', content: { decision: 'once' } }

/** Starts the built program as `serve`. */
const serve = async (t: Test, file: string, port = '0') => {
  const running = startBin(t, ['serve', '--config', file, '--port', port])
  const line = await running.line(/listening on http.*\/mcp$/)
  return { running, url: line.split(' ').at(-1) ?? '' }
}

const start = async (t: Test, servers: object, rules: readonly object[], more: object = {}) => {
  const file = configFile(t, servers, { rules, startupWait: '60s', audit: 'audit.jsonl', ...more })
  const run = (...words: string[]) => runHere(t, ...words, '--config', file)
  const waiting = async (): Promise<Loose[]> =>
    JSON.parse((await run('approvals', '--json')).out).approvals as Loose[]
  return { file, run, waiting, ...(await serve(t, file)) }
}

const refusalOf = (message: Loose): Loose => message.result?._meta?.['mcp-proxy/refused']
const stateOf = (message: Loose): string => message.result.requestState
const textOf = (result: Loose): string => result.content[0].text

t.test('commands list the calls that wait, and decide about one of them', async t => {
  const { url, run, waiting } = await start(t, { shop: tiny() }, [{ id: 'money', tool: 'echo', then: 'ask' }])
  t.match(await run('approvals'), { code: 0, out: 'no calls wait for approval\n' })
  t.same(JSON.parse((await run('approvals', '--json')).out), { version: 1, approvals: [] })
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  const args = '{"n":500.00000000000000000001,"n":1,"s":"\\u202e<b>"}'
  const call = async (text: string): Promise<Loose> => (await client.call(1, 'shop__echo', text)).last.message
  t.match(refusalOf(await call(args)), { reason: 'approval-needed' })
  const { id } = refusalOf(await call(args)).approval
  const other = refusalOf(await call('{}')).approval.id
  const listed = (await run('approvals')).out
  t.match(listed, `${id}: local calls "echo" of shop (rule money), until 20`)
  t.match(listed, '"n":500.00000000000000000001,"n":1', 'members and digits are as the server gets them')
  t.match(listed, '"\\u202e\\u003cb\\u003e"')
  t.match((await run('approvals', '--json')).out, '"n":500.00000000000000000001,"n":1')
  t.match(await waiting(), [
    {
      id,
      principal: 'local',
      server: 'shop',
      name: 'echo',
      rule: 'money',
      of: null,
      url: `/approvals/${id}`,
    },
    { id: other, arguments: {} },
  ])
  for (const wrong of ['nobody', '../../call', `${id}0`, '__proto__'])
    t.match(await run('approve', wrong), { code: 1, out: '', err: /unknown, decided or expired/ }, wrong)
  t.match(await run('approve', id, other), { code: 2 }, 'one at a time')
  t.match(await run('approve'), { code: 2 })
  t.equal((await waiting()).length, 2)
  t.same(await run('approve', id), { code: 0, out: 'approved\n', err: '' })
  t.match(await run('deny', id), { code: 1 }, 'it is decided')
  const denied = await run('deny', other, '--json')
  t.same(JSON.parse(denied.out), { version: 1, id: other, decision: 'deny' })
  t.match(await call('{"n":1}'), { result: { isError: true } })
  t.match(textOf((await call(args)).result), '500.00000000000000000001')
  t.match(refusalOf(await call('{}')), { reason: 'approval-declined' })
  t.match(await runHere(t, 'approve', id, '--config', configFile(t, {})), { code: 4 })
})

t.test('a question from before a restart of the proxy is asked again', async t => {
  const rules = [{ tool: 'echo', then: 'ask' }]
  const { file, running, url, run } = await start(t, { shop: tiny() }, rules)
  const client = await EraClient.connect(t, url, 'modern', { declared: FORM })
  const params = { name: 'shop__echo', arguments: { n: 9 } }
  const first = await client.send('tools/call', params)
  const legacy = new RawClient(url)
  await legacy.initialize()
  const { id } = refusalOf((await legacy.call(1, 'shop__echo')).last.message).approval
  t.match(await run('approve', id), { code: 0 })
  running.child.kill('SIGTERM')
  await running.exited
  await serve(t, file, new URL(url).port)
  const answered = { inputResponses: { approval: ONCE }, requestState: stateOf(first) }
  const again = await client.send('tools/call', { ...params, ...answered })
  t.match(again, { result: { resultType: 'input_required' } })
  t.equal((await fetch(new URL(`/approvals/${id}`, url))).status, 404, 'its pages have expired')
  const repeated = await client.send('tools/call', { ...params, ...answered, requestState: stateOf(again) })
  t.match(textOf(repeated.result), '"n":9')
  const fresh = new RawClient(url)
  await fresh.initialize()
  t.match(refusalOf((await fresh.call(1, 'shop__echo')).last.message), { reason: 'approval-needed' })
})

t.test('raced, replayed, altered and foreign answers run a call at most once', async t => {
  const { entry } = await startServer(t, 'stdio', '2025-11-25')
  const rules = [{ id: 'a', tool: ['ask', 'echo'], then: 'ask' }]
  const { url, run, waiting, file } = await start(t, { shop: entry }, rules)
  const client = await EraClient.connect(t, url, 'modern', { declared: FORM })
  const params = { name: 'shop__ask', arguments: { method: 'ping', key: 'raced' } }
  const asked = await client.send('tools/call', params)
  const answer = (more: object, state = stateOf(asked)): Promise<Loose> =>
    client.send('tools/call', { ...params, requestState: state, inputResponses: { approval: ONCE }, ...more })
  for (const [title, more, state] of [
    ['other arguments', { arguments: { method: 'ping', key: 'raced', x: 1 } }],
    ['another tool', { name: 'shop__echo' }],
    ['an altered state', {}, stateOf(asked).replace(/.$/, last => (last === 'A' ? 'B' : 'A'))],
    ['a cut state', {}, stateOf(asked).slice(0, -8)],
    ['a state of nobody', {}, 'v1.AAAA.BBBB'],
  ] as const)
    t.match(await answer(more, state), { error: { code: -32602 } }, title)
  const all = await Promise.all(Array.from({ length: 8 }, () => answer({})))
  t.equal(all.filter(({ result }) => result !== undefined).length, 1, 'one of eight runs')
  const ran = async (key: string): Promise<Loose> =>
    JSON.parse(textOf((await client.send('tools/call', { name: 'shop__ran', arguments: { key } })).result))
  t.match(await ran('raced'), { begun: 1 })
  t.match(await answer({}), { error: { code: -32602 } }, 'replayed')

  const page = await EraClient.connect(t, url, 'legacy')
  const once = { name: 'shop__ask', arguments: { method: 'ping', key: 'page' } }
  const { id } = refusalOf(await page.send('tools/call', once)).approval
  const racing = ['approve', 'deny', 'approve'].map(verb => startBin(t, [verb, id, '--config', file]).exited)
  const codes = await Promise.all(racing)
  t.equal(codes.filter(code => code === 0).length, 1, 'the first decision counts')
  if ((await waiting()).length > 0) t.fail('something waits')
  await Promise.all(Array.from({ length: 5 }, () => page.send('tools/call', once)))
  t.ok((await ran('page')).begun <= 1)

  await t.test('a batch has one approval for each call', async t => {
    const old = new RawClient(url)
    await old.initialize({}, '2025-03-26')
    const calls = ['x', 'y'].map((key, n) => ({
      ...{ jsonrpc: '2.0', id: n, method: 'tools/call' },
      params: { name: 'shop__echo', arguments: { key } },
    }))
    const { heard } = await old.postText(JSON.stringify(calls))
    const texts = heard.flatMap(({ message }) => message as Loose).flat()
    const ids = texts.map(message => refusalOf(message)?.approval.id)
    t.equal(new Set(ids).size, 2)
    t.match(await run('approve', ids[0]), { code: 0 })
    const again = (await old.postText(JSON.stringify(calls))).heard.flatMap(({ message }) => message as Loose)
    t.equal(again.flat().filter(message => refusalOf(message) === undefined).length, 1)
  })

  const lines = readFileSync(join(file, '..', 'audit.jsonl'), 'utf8')
    .trim()
    .split('\n')
  const events = lines.map(line => JSON.parse(line)).filter(({ audit }) => audit === 'approval')
  const granted = events.filter(({ event }) => event === 'granted').map(one => one.id)
  const used = events.filter(({ event }) => event === 'used').map(one => one.id)
  t.equal(new Set(used).size, used.length, 'no approval was used twice')
  for (const one of used) t.ok(granted.includes(one), 'what ran was granted')
})

t.test('floods of calls that wait are refused, and all else goes on', async t => {
  const rules = [{ id: 'a', tool: 'echo', then: 'ask' }]
  const { url, waiting } = await start(t, { shop: tiny() }, rules, {
    limits: { approvals: 50, approvalsPerPrincipal: 20 },
  })
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  const reasons = await Promise.all(
    Array.from({ length: 300 }, async (_, n) => {
      const { message } = (await client.call(n, 'shop__echo', `{"n":${n}}`)).last
      const { reason, limit } = refusalOf(message)
      return limit ?? reason
    }),
  )
  t.equal(reasons.filter(reason => reason === 'approval-needed').length, 20)
  t.equal(reasons.filter(reason => reason === 'approvalsPerPrincipal').length, 280)
  t.equal((await waiting()).length, 20)
  t.match((await client.call('x', 'shop__facts')).last.message, { result: { content: [{}] } })
})

// ── the official clients ──

/** A client that answers approvals with `decision`, and other questions with a day. */
interface Asked {
  readonly client: Pick<Client, 'close' | 'listTools'>
  call(name: string, args: object): Promise<Loose>
  decision: string
  questions: string[]
}

const answers = (asked: Asked) => (request: Loose) => {
  const { message } = request.params
  asked.questions.push(message)
  const content = message.startsWith('Allow this call?') ? { decision: asked.decision } : { day: 'monday' }
  return Promise.resolve({ action: 'accept', content }) as Promise<Loose>
}

const INFO = { name: 'test', version: '1' }

const connectV1 = async (url: string, capabilities: object): Promise<Asked> => {
  const client = new ClientV1(INFO, { capabilities })
  const asked: Asked = {
    ...{ client: client as unknown as Asked['client'], decision: 'once', questions: [] },
    call: (name, args) => client.callTool({ name, arguments: { ...args } }),
  }
  if ('elicitation' in capabilities) client.setRequestHandler(ElicitRequestSchema, answers(asked))
  await client.connect(new TransportV1(new URL(url)))
  return asked
}

const connectV2 =
  (mode: 'legacy' | { pin: string }) =>
  async (url: string, capabilities: object): Promise<Asked> => {
    const client = new Client(INFO, { capabilities, versionNegotiation: { mode } })
    const asked: Asked = {
      ...{ client, decision: 'once', questions: [] },
      call: (name, args) => client.callTool({ name, arguments: { ...args } }),
    }
    if ('elicitation' in capabilities) client.setRequestHandler('elicitation/create', answers(asked))
    await client.connect(new StreamableHTTPClientTransport(new URL(url)))
    return asked
  }

const SDKS = {
  '1.32': connectV1,
  '2.4, legacy': connectV2('legacy'),
  '2.4, modern': connectV2({ pin: '2026-07-28' }),
}

const ELICITATION = {
  method: 'elicitation/create',
  params: { message: 'Which?', requestedSchema: { type: 'object', properties: { day: { type: 'string' } } } },
}

t.test('official clients approve calls at servers of both eras', { timeout: 120_000 }, async t => {
  const [legacy, modern] = await Promise.all(
    ['2025-11-25', '2026-07-28'].map(async revision => (await startServer(t, 'stdio', revision)).entry),
  )
  const rules = [{ id: 'a', tool: 'ask', then: 'ask' }]
  const views = { searching: { servers: ['legacy', 'modern'], expose: 'search' } }
  const { url, run } = await start(t, { legacy, modern }, rules, { views })
  for (const [sdk, connect] of Object.entries(SDKS)) {
    await t.test(sdk, async t => {
      const asked = await connect(url, { elicitation: { form: {} } })
      const searching = await connect(`${url}/searching`, { elicitation: { form: {} } })
      const mute = await connect(url, {})
      for (const { client } of [asked, searching, mute]) {
        t.teardown(() => client.close())
        await client.listTools()
      }
      for (const alias of ['legacy', 'modern']) {
        const name = `${alias}__ask`
        const argsOf = (what: string) => ({ ...ELICITATION, key: `${sdk} ${alias} ${what}` })
        // Clients that a program asks have a program of their own.
        const ran = async (what: string, by: Asked = asked): Promise<Loose> =>
          JSON.parse(textOf(await by.call(`${alias}__ran`, { key: argsOf(what).key })))
        asked.questions = []
        t.match(textOf(await asked.call(name, argsOf('once'))), '"day":"monday"', `${alias}: approved`)
        t.match(await ran('once'), { begun: 1, done: 1 })
        t.equal(asked.questions.filter(text => text.startsWith('Allow')).length, 1, `${alias}: asked once`)
        asked.decision = 'no'
        t.match(textOf(await asked.call(name, argsOf('no'))), /^Approval declined/, `${alias}: declined`)
        t.match(await ran('no'), { begun: 0 })
        asked.decision = 'once'
        const through = { name, arguments: argsOf('search') }
        t.match(
          textOf(await searching.call('call_write_tool', through)),
          '"day":"monday"',
          `${alias}: searched`,
        )
        const searched = { name: `${alias}__ran`, arguments: { key: through.arguments.key } }
        t.match(textOf(await searching.call('call_write_tool', searched)), '"begun":1,"done":1')
        const simple = { method: 'ping', key: argsOf('mute').key }
        const refused = await mute.call(name, simple)
        t.match(refused, { isError: true }, `${alias}: a client that cannot be asked`)
        const { id } = refused._meta['mcp-proxy/refused'].approval
        t.match(await run('approve', id), { code: 0 })
        await mute.call(name, simple).catch(() => undefined)
        t.match(await ran('mute', mute), { begun: 1 }, `${alias}: repeated after the decision`)
        t.match(refusedReason(await mute.call(name, simple)), 'approval-needed')
      }
    })
  }
})

const refusedReason = (result: Loose): unknown => result._meta?.['mcp-proxy/refused'].reason
