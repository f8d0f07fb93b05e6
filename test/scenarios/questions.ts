import t, { type Test } from 'tap'
import { type Connected, connectTo, ELICITED, ROOTS, SAMPLED } from '../support/client/sdk-client.js'
import { SHIM } from '../support/client/shim-client.js'
import { MODERN, NEWEST } from '../support/era/codec.js'
import { until } from '../support/processes.js'
import { configured } from '../support/proxy/shared-daemon.js'
import { BIN, configFile, NOWHERE, startBin, startDaemon } from '../support/proxy/start.js'
import { startAsking } from '../support/server/started-server.js'

/** Each question, and its answer as the server gets it. */
const QUESTIONS = {
  'roots/list': { roots: ROOTS },
  'elicitation/create': ELICITED,
  'sampling/createMessage': SAMPLED,
} as const
type Question = keyof typeof QUESTIONS
const METHODS = Object.keys(QUESTIONS) as Question[]

interface Entry {
  readonly command?: string
  readonly args?: readonly string[]
  readonly url?: string
}

type Revision = typeof NEWEST | typeof MODERN

/** A client behind the program, with its only server. */
interface Rig extends Connected {
  call(name: string, args?: object, signal?: AbortSignal): Promise<unknown>
  /** The client's URI of the server's resource. */
  readonly resource: string
}

const rigOf = (connected: Connected, prefix: boolean): Rig => ({
  ...connected,
  resource: prefix ? 's+file:///a' : 'file:///a',
  call: async (name, args = {}, signal) => {
    const options = signal === undefined ? {} : { signal }
    const { content } = await connected.client.callTool(prefix ? `s__${name}` : name, args, options)
    return JSON.parse(content[0].text)
  },
})

const bridged = ({ command = '', args = [], url }: Entry): readonly string[] =>
  url === undefined ? ['--', command, ...args] : [url]

/** Calls that hang end soon; `bridge` has no such setting. */
const impatient = (entry: Entry): object => ({ ...entry, timeouts: { call: '1s' } })

/** The ways in which the program is started, with one client. */
const WAYS = {
  serve: async (t: Test, entry: Entry, revision: Revision) => {
    const { url } = await startDaemon(t, { s: impatient(entry) })
    return rigOf(await connectTo(t, { ...NOWHERE, url }, 'http', revision), true)
  },
  stdio: async (t: Test, entry: Entry, revision: Revision) => {
    const command = [process.execPath, BIN, 'stdio', '--config', configFile(t, { s: impatient(entry) })]
    return rigOf(await connectTo(t, { ...NOWHERE, command }, 'stdio', revision), true)
  },
  connect: async (t: Test, entry: Entry, revision: Revision) => {
    const command = [process.execPath, SHIM, '--config', configured(t, { s: impatient(entry) })]
    return rigOf(await connectTo(t, { ...NOWHERE, command }, 'stdio', revision), true)
  },
  bridge: async (t: Test, entry: Entry, revision: Revision) => {
    const running = startBin(t, ['bridge', '--port', '0', ...bridged(entry)])
    const [, url = ''] = /(http\S+)$/.exec(await running.line(/listening on http.*mcp$/)) ?? []
    return rigOf(await connectTo(t, { ...NOWHERE, url }, 'http', revision), false)
  },
  'bridge --to stdio': async (t: Test, entry: Entry, revision: Revision) => {
    const command = [process.execPath, BIN, 'bridge', '--to', 'stdio', ...bridged(entry)]
    return rigOf(await connectTo(t, { ...NOWHERE, command }, 'stdio', revision), false)
  },
} as const
type Way = keyof typeof WAYS

t.setTimeout(600_000)

/** Naming its call, a question reaches the client of that call, whoever else uses the server. */
for (const naming of ['related', 'token'] as const) {
  t.test(`a question that names its call by its ${naming} reaches the client of that call`, async t => {
    const { url } = await startDaemon(t, { s: await startAsking(t, 'stdio') })
    const address = { ...NOWHERE, url }
    for (const revision of [NEWEST, MODERN] as const) {
      const alice = await connectTo(t, address, 'http', revision)
      const bob = await connectTo(t, address, 'http', revision)
      const method = 'elicitation/create'
      const options = { onprogress: () => undefined }
      const named = alice.client.callTool('s__ask', { method, naming, afterMs: 100 }, options)
      const other = bob.client.callTool('s__wait', { ms: 300 })
      t.match(JSON.parse((await named).content[0].text), ELICITED, revision)
      await other
      t.same([alice.asked.length, bob.asked.length], [1, 0], revision)
    }
  })
}

for (const kind of ['stdio', 'http', 'sse'] as const) {
  for (const way of ['serve', 'stdio', 'bridge', 'bridge --to stdio'] as const) {
    t.test(`${way}: a question of a server over ${kind} outlives a call that it was not about`, async t => {
      const { call, asked, think } = await WAYS[way](t, await startAsking(t, kind), NEWEST)
      const answer = think()
      t.equal(await call('ask', { method: 'roots/list', afterMs: 150, forMs: 500 }), 'done')
      await until(() => asked.length === 1, 'the question')
      answer()
      t.same(await call('answers', { count: 1 }), [{ roots: ROOTS }])
    })
  }
}

/** Where a question comes from, and how it is caused; resolves once the server has its answer. */
const MOMENTS: Readonly<Record<string, (rig: Rig, method: Question, count: number) => Promise<unknown>>> = {
  'during a call': ({ call }, method) => call('ask', { method }),
  'after a cancelled call': async ({ call }, method, count) => {
    const stop = new AbortController()
    const hung = call('hang', { method }, stop.signal).catch(() => undefined)
    await call('wait', { ms: 1 })
    stop.abort()
    await hung
    await call('answers', { count: count + 1 })
  },
  'during a call after a cancelled one': async ({ call }, method) => {
    const stop = new AbortController()
    const hung = call('hang', {}, stop.signal).catch(() => undefined)
    await call('wait', { ms: 1 })
    stop.abort()
    await hung
    await call('ask', { method })
  },
  'after a timed-out call': async ({ call }, method, count) => {
    await call('hang', { method }).catch(() => undefined)
    await call('answers', { count: count + 1 })
  },
  'during a list page': async ({ call, client }, method, count) => {
    await call('arm', { on: 'tools/list', method })
    await client.list('tools')
    await call('answers', { count: count + 1 })
  },
  'during a subscription': async ({ call, client, resource }, method, count) => {
    await call('arm', { on: 'resources/subscribe', method })
    await client.subscribe(resource)
    await call('answers', { count: count + 1 })
    await client.unsubscribe(resource)
  },
}

/** A client that is asked in results can be asked during calls only. */
const MODERN_MOMENTS = ['during a call']
const PIPE_MOMENTS = [...MODERN_MOMENTS, 'during a call after a cancelled one']

for (const way of Object.keys(WAYS) as Way[]) {
  for (const revision of [NEWEST, MODERN] as const) {
    t.test(`${way}: one client of ${revision} is asked all that its server asks`, async t => {
      const rig = await WAYS[way](t, await startAsking(t, 'stdio'), revision)
      // A client over HTTP that is asked in results may be several people, so nothing else may be in flight.
      for (const list of ['tools', 'resources', 'resourceTemplates'] as const) await rig.client.list(list)
      let count = 0
      for (const [moment, cause] of Object.entries(MOMENTS)) {
        if (way.startsWith('bridge') && moment === 'after a timed-out call') continue
        const isPipe = way !== 'serve' && way !== 'bridge'
        if (revision === MODERN && !(isPipe ? PIPE_MOMENTS : MODERN_MOMENTS).includes(moment)) continue
        for (const method of METHODS) {
          await cause(rig, method, count)
          count += 1
          const answers = await rig.call('answers', { count })
          t.match((answers as object[]).at(-1), QUESTIONS[method], `${method} ${moment}`)
        }
      }
      t.equal(rig.asked.length, count)
    })
  }
}
