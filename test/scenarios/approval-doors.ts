import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import type { Loose } from '../support/client/raw-client.js'
import { SHIM } from '../support/client/shim-client.js'
import { until } from '../support/processes.js'
import { configured } from '../support/proxy/shared-daemon.js'
import { configFile, runHere, startBin, tiny } from '../support/proxy/start.js'

const ONCE = { action: 'accept', content: { decision: 'once' } }
const FORM = { elicitation: { form: {} } }
const LINK = { elicitation: { url: {} } }

/** A client that speaks JSON messages over any transport. */
interface Door {
  readonly heard: Loose[]
  send(message: object): void
  close(): unknown
}

const heardIn = async (door: Door, what: string, is: (message: Loose) => boolean): Promise<Loose> => {
  await until(() => door.heard.some(is), what)
  return door.heard.find(is)
}

const shim = (t: Test, file: string, view: string): Door => {
  const running = startBin(t, ['--config', file, '--view', view], { bin: SHIM })
  const heard: Loose[] = []
  let rest = ''
  running.child.stdout?.on('data', chunk => {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    heard.push(...lines.map(line => JSON.parse(line)))
  })
  return {
    heard,
    send: message => running.send(message),
    close: () => {
      running.child.stdin?.end()
      return running.exited
    },
  }
}

const socket = async (t: Test, url: string): Promise<Door> => {
  const ws = new WebSocket(url, 'mcp')
  const heard: Loose[] = []
  ws.on('message', data => heard.push(JSON.parse(String(data))))
  await new Promise((resolve, reject) => ws.once('open', resolve).once('error', reject))
  t.teardown(() => ws.terminate())
  return {
    heard,
    send: message => ws.send(JSON.stringify({ jsonrpc: '2.0', ...message })),
    close: () => ws.close(),
  }
}

const events = async (t: Test, url: string): Promise<Door> => {
  const abort = new AbortController()
  t.teardown(() => abort.abort())
  const response = await fetch(url, { headers: { accept: 'text/event-stream' }, signal: abort.signal })
  const heard: Loose[] = []
  let endpoint = ''
  const read = async (): Promise<void> => {
    let rest = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const parts = (rest + chunk).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const data = /^data: ?(.*)$/m.exec(part)?.[1] ?? ''
        if (part.includes('event: endpoint')) endpoint = new URL(data, url).href
        else if (data !== '') heard.push(JSON.parse(data))
      }
    }
  }
  read().catch(() => undefined)
  await until(() => endpoint !== '', 'the endpoint')
  const headers = { 'content-type': 'application/json' }
  let sent: Promise<unknown> = Promise.resolve()
  const post = (body: string) => fetch(endpoint, { method: 'POST', headers, body }).catch(() => undefined)
  return {
    heard,
    send: message => {
      sent = sent.then(() => post(JSON.stringify({ jsonrpc: '2.0', ...message })))
    },
    close: async () => {
      await sent
      abort.abort()
    },
  }
}

const SERVERS = { shop: { ...tiny(), tools: { rename: { echo: 'say' } } } }
const SETTINGS = {
  views: { till: { servers: ['shop'] } },
  rules: [
    { id: 'held', tool: 'facts', then: 'ask', ask: { of: { people: ['local'] } } },
    { id: 'page', tool: 'strict', then: 'ask', ask: { via: 'page' } },
    { id: 'brief', tool: 'picture', then: 'ask', ask: { timeout: '1s' } },
    { id: 'money', tool: 'echo', then: 'ask', ask: { timeout: '1m' } },
  ],
  startupWait: '60s',
  audit: 'audit.jsonl',
}

const refusalOf = (message: Loose): Loose => message.result?._meta?.['mcp-proxy/refused']
const textOf = (message: Loose): string => message.result.content[0].text

/** A connected client, and the commands of its proxy. */
class Guest {
  readonly #door: Door
  #id = 0

  constructor(door: Door) {
    this.#door = door
  }

  async initialize(capabilities: object): Promise<void> {
    const clientInfo = { name: 'door', version: '1' }
    await this.answer(this.say('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo }))
    this.notify('notifications/initialized')
  }

  notify(method: string, params: object = {}): void {
    this.#door.send({ jsonrpc: '2.0', method, params })
  }

  say(method: string, params: object = {}): number {
    this.#id += 1
    this.#door.send({ jsonrpc: '2.0', id: this.#id, method, params })
    return this.#id
  }

  call(name: string, args: object = {}): number {
    return this.say('tools/call', { name: `shop__${name}`, arguments: args })
  }

  answer(id: number): Promise<Loose> {
    return heardIn(this.#door, `the answer ${id}`, one => one.id === id && one.method === undefined)
  }

  /** Returns the question number `at`, from 0. */
  async question(at: number): Promise<Loose> {
    const all = (): Loose[] => this.#door.heard.filter(one => one.method === 'elicitation/create')
    await until(() => all().length > at, `question ${at}`)
    return all()[at]
  }

  reply(question: Loose, result: object): void {
    this.#door.send({ jsonrpc: '2.0', id: question.id, result })
  }

  async leave(): Promise<void> {
    await this.#door.close()
  }

  async heard(method: string): Promise<Loose> {
    return await heardIn(this.#door, method, one => one.method === method)
  }
}

/** Drives all ways of asking through one transport; `open` connects a client to the view. */
const drive = async (t: Test, file: string, open: (t: Test) => Promise<Door>, hasPage: boolean) => {
  const run = (...words: string[]) => runHere(t, ...words, '--config', file)
  const waiting = async (): Promise<Loose[]> => JSON.parse((await run('approvals', '--json')).out).approvals
  const guest = async (capabilities: object): Promise<Guest> => {
    const one = new Guest(await open(t))
    await one.initialize(capabilities)
    return one
  }

  const form = await guest(FORM)
  const other = await guest(FORM)
  const first = form.call('say', { n: 1 })
  const question = await form.question(0)
  t.match(question.params.message, /tool: "echo"\narguments: \{"n":1\}/, 'by the own name')
  other.reply(question, ONCE)
  t.match(await other.answer(other.say('ping')), { result: {} })
  t.equal((await waiting()).length, 1, 'an answer of another client decides nothing')
  form.reply(question, ONCE)
  t.equal(textOf(await form.answer(first)), '{"n":1}')
  form.reply(question, ONCE)
  const second = form.call('say', { n: 1 })
  form.reply(await form.question(1), { action: 'accept', content: { decision: 'no' } })
  t.match(refusalOf(await form.answer(second)), { reason: 'approval-declined', rule: 'money' }, 'no replay')

  const late = form.call('picture')
  const unanswered = await form.question(2)
  t.match(refusalOf(await form.answer(late)), { reason: 'approval-expired', rule: 'brief' })
  form.reply(unanswered, ONCE)
  t.match(await form.answer(form.say('ping')), { result: {} })
  t.same(await waiting(), [], 'a late answer decides nothing')

  const none = await guest({})
  const refused = refusalOf(await none.answer(none.call('say', { n: 2 })))
  t.match(refused, { reason: 'approval-needed' })
  t.match(await run('approve', refused.approval.id), { code: 0, out: 'approved\n' })
  t.match(await run('deny', refused.approval.id), { code: 1 }, 'once')
  t.match(refusalOf(await none.answer(none.call('say', { n: 3 }))), { reason: 'approval-needed' }, 'altered')
  t.equal(textOf(await none.answer(none.call('say', { n: 2 }))), '{"n":2}')
  t.match(refusalOf(await none.answer(none.call('say', { n: 2 }))), { reason: 'approval-needed' })
  for (const { id } of await waiting()) t.match(await run('deny', id), { code: 0, out: 'denied\n' })
  t.match(refusalOf(await none.answer(none.call('say', { n: 2 }))), { reason: 'approval-declined' })

  const link = await guest(LINK)
  const paged = link.call('strict')
  if (hasPage) {
    const { params, id } = await link.question(0)
    t.match(params, { mode: 'url', url: /\/approvals\/[0-9a-f]{32}$/ })
    link.reply({ id }, { action: 'accept' })
  }
  const approval = hasPage ? (await waiting())[0].id : refusalOf(await link.answer(paged)).approval.id
  t.match(await run('approve', approval), { code: 0 })
  if (hasPage) await link.heard('notifications/elicitation/complete')
  t.equal(textOf(await link.answer(hasPage ? paged : link.call('strict'))), '{}')

  const held = none.call('facts')
  await until(async () => (await waiting()).length === 1, 'the held call')
  const [{ id, arguments: shown }] = await waiting()
  t.equal(shown, null, 'another person decides')
  t.match(await run('approve', id), { code: 1 }, 'the caller does not')
  t.match(await none.answer(none.say('ping')), { result: {} })
  none.notify('notifications/cancelled', { requestId: held })
  await Promise.all([form, other, none, link].map(one => one.leave()))
  return { run, waiting }
}

t.test('calls are approved through the daemon of local clients, in a view with renamed tools', async t => {
  const file = configured(t, SERVERS, SETTINGS)
  const { run } = await drive(t, file, t => Promise.resolve(shim(t, file, 'till')), false)
  t.match(await run('rules', 'test', 'shop/echo', '--expect', 'ask'), { code: 0 })
  t.match(await run('rules', 'test', 'shop__say', '--expect', 'ask'), { code: 0 }, 'by the new name')
  t.match(await run('rules', 'test', 'shop/say', '--expect', 'allow'), { code: 0 }, 'rules know own names')
  const trail = join(file, '..', 'audit.jsonl')
  t.match(await runHere(t, 'audit', 'verify', trail), { code: 0, out: /^chain [0-9a-f]{8}, lines 0 to / })
})

for (const [transport, open] of [
  ['WebSocket', (t: Test, url: string) => socket(t, new URL('/ws/till', url).href.replace('http', 'ws'))],
  ['HTTP+SSE', (t: Test, url: string) => events(t, new URL('/sse/till', url).href)],
] as const)
  t.test(`calls are approved over ${transport}, in a view with renamed tools`, async t => {
    const file = configFile(t, SERVERS, { ...SETTINGS, listen: { sse: true, ws: true } })
    const running = startBin(t, ['serve', '--config', file, '--port', '0'])
    const url = (await running.line(/listening on http.*\/mcp$/)).split(' ').at(-1) ?? ''
    await drive(t, file, t => open(t, url), true)
  })
