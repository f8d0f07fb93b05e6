import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Deferred } from '../../src/kernel/async/deferred.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { isRunning, skipWithout, socketFile, until } from '../support/processes.js'
import {
  configFile,
  INITIALIZE,
  type Running,
  rawServer,
  STATE_HOME,
  startBin,
  startProxy,
  tiny,
} from '../support/proxy/start.js'

const RAW = fileURLToPath(new URL('../fixtures/raw-server.mjs', import.meta.url))
/**
 * A server with a child of its own, which outlives the end of its stdin and says its process id on stderr.
 */
const WITH_CHILD = `
  import { spawn } from 'node:child_process'
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  console.error('grandchild ' + child.pid + ' of ' + process.pid)
  setInterval(() => {}, 1000)
  await import(${JSON.stringify(pathToFileURL(RAW).href)})`
const withChild = { command: process.execPath, args: ['--input-type=module', '-e', WITH_CHILD] }

const serve = async (t: Test, servers: object, more: object = {}): Promise<Running & { url: string }> => {
  const running = startBin(t, ['serve', '--config', configFile(t, servers, more), '--port', '0'])
  const line = await running.line(/listening on http/)
  return Object.assign(running, { url: line.split(' ').at(-1) ?? '' })
}

const textOf = (answer: Awaited<ReturnType<RawClient['post']>>): string =>
  String(answer.last.message.result?.content?.[0]?.text)

const introduced = async (url: string): Promise<RawClient> => {
  const client = new RawClient(url)
  await client.initialize()
  return client
}

t.test('nothing of a proxy that is killed outlives it', { skip: skipWithout.groups }, async t => {
  const proxy = await serve(t, { plain: rawServer(), deep: withChild })
  const client = await introduced(proxy.url)
  const plain = Number(textOf(await client.call(1, 'plain__pid')))
  await until(() => /grandchild \d+ of \d+/.test(proxy.err), 'the grandchild')
  const [, grandchild, deep] = (/grandchild (\d+) of (\d+)/.exec(proxy.err) ?? []).map(Number)
  const pids = [plain, Number(grandchild), Number(deep)]
  t.ok(pids.every(isRunning))
  proxy.child.kill('SIGKILL')
  await until(() => !pids.some(isRunning), 'their end')
})

const RECORDS = join(STATE_HOME, 'mcp-proxy', 'instances')
/** A record; empty if it has gone since its folder was read. */
const recordIn = (file: string): string => {
  try {
    return readFileSync(join(RECORDS, file), 'utf8')
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown
    return ''
  }
}

/** The process ids of the direct children of a process. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8')

t.test(
  'what outlives a proxy that was killed with its death guard is ended by the next, and nothing else',
  { skip: skipWithout.proc },
  async t => {
    const stubborn = { two: tiny('--stubborn'), deep: withChild }
    const dies = await serve(t, stubborn)
    const lives = await serve(t, { one: tiny('--stubborn') })
    const pidOf = async (url: string, tool: string) =>
      JSON.parse(textOf(await (await introduced(url)).call(1, tool))).pid as number
    const [orphan, kept] = await Promise.all([pidOf(dies.url, 'two__facts'), pidOf(lives.url, 'one__facts')])
    await until(() => /grandchild \d+ of \d+/.test(dies.err), 'the grandchild')
    const [, grandchild = 0, deep = 0] = (/grandchild (\d+) of (\d+)/.exec(dies.err) ?? []).map(Number)
    const recorded = () =>
      readdirSync(RECORDS)
        .map(recordIn)
        .some(text => [orphan, deep].every(pid => text.includes(`"pid":${pid},`)))
    await until(recorded, 'the record')
    // Frozen, so that it cannot replace its guard.
    dies.child.kill('SIGSTOP')
    const guard = childrenOf(dies.child.pid ?? 0).find(pid => commandOf(pid).includes('death-guard'))
    process.kill(guard ?? 0, 'SIGKILL')
    dies.child.kill('SIGKILL')
    await dies.exited
    t.same([orphan, deep, grandchild, kept].map(isRunning), [true, true, true, true])
    const next = await serve(t, { one: tiny() })
    await until(() => ![orphan, deep, grandchild].some(isRunning), 'the end of the orphans')
    await until(() => !recorded(), 'the end of the record')
    t.ok(isRunning(kept))
    t.equal(await pidOf(lives.url, 'one__facts'), kept)
    for (const proxy of [next, lives]) {
      proxy.child.kill('SIGTERM')
      t.equal(await proxy.exited, 0)
    }
    t.same(readdirSync(RECORDS), [], 'no record is left')
  },
)

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(
    `${signal} finishes requests in flight, ends the servers and exits with 0`,
    { skip: skipWithout.signals },
    async t => {
      const proxy = await serve(t, { raw: rawServer() }, { drain: '100ms' })
      const client = await introduced(proxy.url)
      const pid = Number(textOf(await client.call(1, 'raw__pid')))
      const calls = [client.call(2, 'raw__wait'), client.call(3, 'raw__wait', '{}', { progressToken: 1 })]
      await until(() => isRunning(pid), 'the server')
      await client.call(4, 'raw__echo')
      proxy.child.kill(signal)
      for (const answer of await Promise.all(calls)) t.match(answer.last.message, { error: { code: -32603 } })
      t.equal(await proxy.exited, 0)
      await until(() => !isRunning(pid), 'the end of the server')
    },
  )
}

t.test(
  'during shutdown, calls in flight may finish, and new ones are refused',
  { skip: skipWithout.signals },
  async t => {
    const proxy = await serve(t, { raw: rawServer() }, { drain: '1m' })
    const client = new RawClient(proxy.url)
    const [asked, answered] = [new Deferred<void>(), new Deferred<void>()]
    client.onAsk = async () => {
      asked.resolve()
      await answered.promise
      return { action: 'accept', content: {} }
    }
    await client.initialize({ elicitation: {} })
    await client.listen()
    const ready = async () => {
      const response = await fetch(new URL('/readyz', proxy.url))
      return [response.status, ((await response.json()) as { status: string }).status]
    }
    t.same(await ready(), [200, 'ready'])
    const question = { message: 'well?', requestedSchema: { type: 'object', properties: {} } }
    const args = JSON.stringify({ method: 'elicitation/create', params: question })
    const call = client.call(1, 'raw__ask', args)
    await asked.promise
    proxy.child.kill('SIGTERM')
    await until(async () => (await ready())[0] === 503, 'the beginning of the end')
    t.same(await ready(), [503, 'draining'])
    t.equal((await fetch(new URL('/healthz', proxy.url))).status, 200)
    t.match(await new RawClient(proxy.url).initialize(), { status: 503, last: { message: { error: {} } } })
    t.equal(
      (await fetch(new URL('/sse', proxy.url), { headers: { accept: 'text/event-stream' } })).status,
      503,
    )
    t.match((await client.call(2, 'raw__echo')).last.message.error, { data: { reason: 'unavailable' } })
    answered.resolve()
    t.match(textOf(await call), '"action":"accept"')
    t.equal(await proxy.exited, 0)
  },
)

t.test(
  'a second signal ends the proxy at once, with its own code',
  { skip: skipWithout.signals },
  async t => {
    const proxy = await serve(t, { slow: tiny('--stubborn') })
    await introduced(proxy.url)
    // One right after the other: the end must still be under way when the second comes. The system may swap
    // them.
    proxy.child.kill('SIGTERM')
    proxy.child.kill('SIGINT')
    const code = await proxy.exited
    t.ok(code === 130 || code === 143, `ended with ${code}, and not in order with 0`)
  },
)

t.test('a client on stdio that is killed takes everything with it', async t => {
  const proxy = startBin(t, ['stdio', '--config', configFile(t, { raw: rawServer() })])
  proxy.send(INITIALIZE, { method: 'notifications/initialized' })
  proxy.send({ id: 2, method: 'tools/call', params: { name: 'raw__pid', arguments: {} } })
  const pid = Number(/"text":"(\d+)"/.exec(await proxy.line(/"id":2/))?.[1])
  t.ok(isRunning(pid))
  // What a killed client leaves of its pipes: our stdin ends, and nobody reads our stdout.
  proxy.child.stdin?.destroy()
  proxy.child.stdout?.destroy()
  t.equal(await proxy.exited, 0)
  await until(() => !isRunning(pid), 'the end of the server')
})

t.test('a client that vanishes releases its server to its session, and affects no other client', async t => {
  const proxy = startProxy(t, { mine: { ...rawServer(), sharing: 'session' }, all: rawServer() })
  const { url } = await proxy.listen({ port: 0 })
  const gone = await introduced(url)
  const pid = Number(textOf(await gone.call(1, 'mine__pid')))
  void gone.call(2, 'mine__wait').catch(() => undefined)
  const { session } = gone
  gone.vanish()
  const other = await introduced(url)
  t.equal(textOf(await other.call(1, 'all__echo', '{"a":1}')), '{"a":1}')
  const again = new RawClient(url)
  again.session = session
  t.equal(await again.end(), 200)
  await until(() => !isRunning(pid), 'the end of its server')
  t.equal(textOf(await other.call(2, 'all__echo', '{"a":2}')), '{"a":2}')
})

// ── many at once ──

type Told = { id?: unknown; method?: string; params?: Loose; result?: Loose }

/** A client on a connection of its own, with all that was said to it. */
class PipeClient {
  readonly told: Told[] = []
  readonly #send: (text: string) => void
  #heard = (): void => undefined

  constructor(send: (text: string) => void) {
    this.#send = send
  }

  hear(text: string): void {
    this.told.push(JSON.parse(text))
    this.#heard()
  }

  send(message: object): void {
    this.#send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  async answers(count: number): Promise<void> {
    while (this.told.filter(({ method }) => method === undefined).length < count) {
      await new Promise<void>(resolve => {
        this.#heard = resolve
      })
    }
  }

  async introduce(): Promise<void> {
    this.send(INITIALIZE)
    await this.answers(1)
    this.send({ method: 'notifications/initialized' })
    this.told.length = 0
  }
}

const overWs = (t: Test, url: string): Promise<PipeClient> =>
  new Promise((resolve, reject) => {
    const ws = new WebSocket(url, 'mcp')
    t.teardown(() => ws.terminate())
    const client = new PipeClient(text => ws.send(text))
    ws.on('message', (data: Buffer) => client.hear(data.toString()))
    ws.once('open', () => resolve(client)).once('error', reject)
  })

const overSocket = (t: Test, path: string): Promise<PipeClient> =>
  new Promise((resolve, reject) => {
    const socket = connect(path)
    t.teardown(() => socket.destroy())
    const client = new PipeClient(text => socket.write(`${text}\n`))
    let rest = ''
    socket.setEncoding('utf8').on('data', chunk => {
      const lines = (rest + String(chunk)).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) client.hear(line)
    })
    socket.once('connect', () => resolve(client)).once('error', reject)
  })

const CALLS = 300

/**
 * All of the calls of one client, each with an answer and progress that name it; equal ids and tokens at each
 * client.
 */
const callAll = async (t: Test, client: PipeClient, who: string): Promise<void> => {
  await client.introduce()
  for (let id = 1; id <= CALLS; id += 1) {
    const args = { values: [1, 2], tag: `${who} ${id}` }
    const params = { name: `raw__progress`, arguments: args, _meta: { progressToken: id } }
    client.send({ id, method: 'tools/call', params })
  }
  await client.answers(CALLS)
  const said = (id: number) =>
    client.told
      .filter(told => told.id === id || told.params?.progressToken === id)
      .map(({ params, result }) => params?.message ?? result?.content[0].text)
  const wrong = Array.from({ length: CALLS }, (_, index) => index + 1).filter(
    id => said(id).join() !== Array(3).fill(`${who} ${id}`).join(),
  )
  t.same(wrong, [], who)
  t.equal(client.told.length, 3 * CALLS, 'and nothing else is said')
}

t.test('calls of clients with equal ids and tokens are never crossed, lost or doubled', async t => {
  const proxy = startProxy(t, { raw: rawServer() })
  const { url, wsUrl = '' } = await proxy.listen({ port: 0 })
  const http = async (who: string) => {
    const client = await introduced(url)
    for (let from = 1; from <= CALLS; from += 50) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const id = from + index
          const args = JSON.stringify({ values: [1, 2], tag: `${who} ${id}` })
          const { heard } = await client.call(id, 'raw__progress', args, { progressToken: id })
          const said = heard.map(({ message }) => message.params?.message ?? message.result.content[0].text)
          t.same(said, Array(3).fill(`${who} ${id}`))
        }),
      )
    }
  }
  const clients = [overWs(t, wsUrl), overWs(t, wsUrl)]
  const { path } = await proxy.listenSocket(socketFile(t))
  clients.push(overSocket(t, path), overSocket(t, path))
  await Promise.all([
    http('A'),
    http('B'),
    ...clients.map(async (client, index) => callAll(t, await client, `pipe ${index}`)),
  ])
})

t.test('a lost stream is taken up exactly where it was, among many', async t => {
  const proxy = startProxy(t, { raw: rawServer() })
  const { url } = await proxy.listen({ port: 0 })
  const { session = '' } = await introduced(url)
  const steps = Array.from({ length: 20 }, (_, index) => index + 1)
  /** Reads events until there are `limit`, then drops the connection. */
  const read = async (init: RequestInit, limit: number): Promise<{ id: string; told: Told }[]> => {
    const abort = new AbortController()
    const headers = { accept: 'application/json, text/event-stream', 'mcp-session-id': session }
    const response = await fetch(url, {
      ...init,
      headers: { ...headers, ...init.headers },
      signal: abort.signal,
    })
    t.equal(response.status, 200)
    const events: { id: string; told: Told }[] = []
    let rest = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const parts = (rest + chunk).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts.slice(0, limit - events.length)) {
        const [, id] = /^id: ?(.*)$/m.exec(part) ?? []
        const [, data] = /^data: ?(\S.*)$/m.exec(part) ?? []
        if (id !== undefined) events.push({ id, told: JSON.parse(data ?? '{}') })
      }
      if (events.length >= limit) break
    }
    abort.abort()
    return events
  }
  const oneCall = async (id: number): Promise<void> => {
    const args = { values: steps, tag: `call ${id}` }
    const params = { name: 'raw__progress', arguments: args, _meta: { progressToken: id } }
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
    const events = await read(
      { method: 'POST', headers: { 'content-type': 'application/json' }, body },
      2 + id,
    )
    for (const limit of [3, Number.POSITIVE_INFINITY]) {
      events.push(...(await read({ headers: { 'last-event-id': events.at(-1)?.id ?? '' } }, limit)))
    }
    const told = events
      .map(event => event.told)
      .filter(({ id, method }) => id !== undefined || method !== undefined)
    t.same(
      told.slice(0, -1).map(({ params }) => [params.progressToken, params.progress]),
      steps.map(step => [id, step]),
    )
    t.match(told.at(-1), { id, result: { content: [{ text: `call ${id}` }] } })
  }
  await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(oneCall))
})

// ── servers that go, and servers that are sick ──

const bridged = async (t: Test, port: string, first: string): Promise<{ running: Running; url: string }> => {
  const running = startBin(t, ['bridge', '--to', first, '--port', port, '--', process.execPath, RAW])
  const line = await running.line(/listening on/)
  return { running, url: / (\w+:\/\/\S+)/.exec(line)?.[1] ?? '' }
}

for (const kind of ['http', 'sse', 'ws'] as const) {
  t.test(`a restart of a server over ${kind} costs only the calls in flight`, async t => {
    const { running, url } = await bridged(t, '0', kind)
    const proxy = startProxy(t, { far: { url, type: kind } })
    const client = await introduced((await proxy.listen({ port: 0 })).url)
    await client.listen()
    await client.request('logging/setLevel', { level: 'debug' })
    await client.request('resources/subscribe', { uri: 'far+file:///a' })
    const calls = Array.from({ length: 32 }, (_, id) => client.call(`w${id}`, 'far__wait'))
    await client.call(1, 'far__echo')
    running.child.kill('SIGKILL')
    await running.exited
    for (const { last } of await Promise.all(calls)) {
      t.match(last.message.error, { code: -32603, message: /far/ })
    }
    await bridged(t, new URL(url).port, kind)
    // The next attempt may be due only a while after the last one failed.
    let id = 1
    await until(async () => {
      id += 1
      return (await client.call(id, 'far__echo')).last.message.result !== undefined
    }, 'an answer of the server that is back')
    const seen: string[] = JSON.parse(textOf(await client.call('s', 'far__seen')))
    t.ok(seen.some(line => line.includes('"level":"debug"')))
    await client.call('t', 'far__touch', '{"uri":"file:///a"}')
    const isNews = (heard: { message: Told }) =>
      heard.message.method === 'notifications/resources/updated' &&
      heard.message.params.uri === 'far+file:///a'
    t.ok(await client.ambientIs(isNews))
  })
}

t.test('failing servers do not block the others, and report their problems', async t => {
  const proxy = await serve(
    t,
    {
      good: rawServer(),
      // It is given longer than this test has: that anything is answered shows that nobody waits for it.
      mute: {
        command: process.execPath,
        args: ['-e', 'setInterval(() => {}, 1000)'],
        timeouts: { connect: '1h' },
      },
      hangs: {
        command: process.execPath,
        args: ['-e', 'setInterval(() => {}, 1000)'],
        timeouts: { connect: '1s' },
      },
      exits: { command: process.execPath, args: ['-e', 'process.exit(3)'] },
      missing: { command: 'no-such-program-anywhere' },
      talks: {
        command: process.execPath,
        args: [
          '--input-type=module',
          '-e',
          `console.log('*** Welcome ***'); await import(${JSON.stringify(pathToFileURL(RAW).href)})`,
        ],
      },
      late: tiny('--slow', '900'),
    },
    { startupWait: '300ms' },
  )
  const client = new RawClient(proxy.url)
  await client.initialize()
  await client.listen()
  t.match(await client.call(1, 'talks__echo'), { status: 200, last: { message: { result: {} } } })
  for (const [id, name, words] of [
    ['e', 'exits', 'Server exits is not reachable: exited with code 3'],
    ['h', 'hangs', 'Server hangs is not reachable: No answer to initialize within 1 s'],
    ['m', 'missing', 'Server missing is not reachable: .*check "command"'],
  ] as const) {
    t.match((await client.call(id, `${name}__x`)).last.message.error, {
      code: -32603,
      message: new RegExp(words),
    })
  }
  for (;;) {
    client.ambient.length = 0
    const { tools } = (await client.request('tools/list')).last.message.result
    const names: string[] = tools.map((tool: { name: string }) => tool.name)
    if (['good__echo', 'talks__echo', 'late__echo'].every(name => names.includes(name))) break
    // Whoever was given a list without the late one is told when it is there.
    await client.ambientIs(({ message }) => message.method === 'notifications/tools/list_changed')
  }
  proxy.child.kill('SIGKILL')
})
