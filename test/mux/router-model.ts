import fc from 'fast-check'
import t from 'tap'
import { textOf } from '../../src/kernel/json/text.js'
import { succeeded } from '../../src/model/outcome.js'
import type { FakeCall, FakeClient } from '../support/client/fake-client.js'
import { settled } from '../support/fake-clock.js'
import { runs } from '../support/property.js'
import { World } from '../support/proxy/router.js'
import type { FakeRequest, FakeServerRequest } from '../support/server/fake-server.js'
import { resource, tool } from '../support/values.js'

// Random interleavings of everything that clients and servers can do, against what must hold in all of them.

const SHARED = { tools: [tool('x')], resources: [resource('x:1')], capabilities: { logging: true } }

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

/** What happened, to be judged: which call each request stands for is written in its arguments. */
class Play {
  readonly world = new World({
    shared: SHARED,
    own: { ...SHARED, options: { sharing: 'session' } },
    all: { ...SHARED, options: { sharing: 'all' } },
  })
  readonly clients: FakeClient[] = []
  readonly calls = new Map<number, FakeCall>()
  readonly asks: FakeServerRequest[] = []
  readonly progress = new Map<FakeRequest, number>()

  /** Clients whose requests stand for themselves. */
  readonly listeners: FakeClient[] = []

  get listens(): FakeCall[] {
    return this.listeners.flatMap(client => client.calls).filter(call => !call.isOver)
  }

  get present(): FakeClient[] {
    return this.clients.filter(client => !client.isGone)
  }

  get requests(): FakeRequest[] {
    return this.world.servers.flatMap(server => server.got('tools/call'))
  }

  get open(): FakeRequest[] {
    return this.requests.filter(request => !request.isOver)
  }

  callOf(request: FakeRequest): FakeCall | undefined {
    return this.calls.get((request.params as { arguments: { n: number } }).arguments.n)
  }
}

const pick = <T>(items: readonly T[], index: number): T | undefined =>
  items[index % Math.max(items.length, 1)]

/** Everything that can happen; the numbers choose among what is there. */
const DEEDS: Readonly<Record<string, (play: Play, one: number, two: number) => void | Promise<void>>> = {
  join: async ({ world, clients }, one) => {
    const client = world.newcomer({ principal: one % 3 === 0 ? 'other' : 'local' })
    clients.push(client)
    await world.router.welcome(client)
  },
  call: (play, one, two) => {
    const n = play.calls.size
    const server = pick(play.world.servers, two)?.name
    const client = pick(play.present, one)
    if (client !== undefined)
      play.calls.set(
        n,
        client.call('tools/call', { name: `${server}__x`, arguments: { n } }, { wantsProgress: true }),
      )
  },
  answer: (play, one) => {
    const request = pick(play.open, one)
    request?.answer({ content: [], n: (request.params as { arguments: { n: number } }).arguments.n })
  },
  progress: (play, one, two) => pick(play.open, one)?.progress(two),
  cancel: (play, one) => {
    const calls = [...play.calls.values()].filter(call => !call.isOver)
    pick(calls, one)?.cancel('enough')
  },
  ask: (play, one, two) => {
    const links = play.world.servers.flatMap(server => server.links.filter(link => !link.isClosed))
    const link = pick(links, one)
    const methods = ['elicitation/create', 'sampling/createMessage', 'roots/list']
    const about = one % 2 === 0 ? pick(link?.requests ?? [], two) : undefined
    if (link !== undefined) play.asks.push(link.ask(pick(methods, two) ?? '', {}, about))
  },
  reply: (play, one) => {
    const open = play.present.flatMap(client => client.asked)
    pick(open, one)?.ask.answer(succeeded(textOf({ action: 'accept' })))
  },
  withdraw: (play, one) => pick(play.asks, one)?.withdraw(),
  subscribe: (play, one, two) => {
    pick(play.present, one)?.call('resources/subscribe', {
      uri: `${pick(play.world.servers, two)?.name}+x:1`,
    })
  },
  unsubscribe: (play, one, two) => {
    pick(play.present, one)?.call('resources/unsubscribe', {
      uri: `${pick(play.world.servers, two)?.name}+x:1`,
    })
  },
  updated: (play, one) => {
    pick(play.world.servers, one)?.links.at(-1)?.notice('notifications/resources/updated', { uri: 'x:1' })
  },
  listen: ({ world, listeners }, one, two) => {
    if (listeners.length < 3)
      listeners.push(world.modern({ principal: listeners.length === 0 ? 'other' : 'local' }))
    pick(listeners, one)?.call('subscriptions/listen', {
      notifications: {
        toolsListChanged: two % 2 === 0,
        resourceSubscriptions: two % 3 === 0 ? [] : [`${pick(world.servers, two)?.name}+x:1`],
      },
    })
  },
  unlisten: (play, one) => pick(play.listens, one)?.cancel(),
  change: (play, one, two) => {
    const server = pick(play.world.servers, one)
    if (server === undefined) return
    server.lists.tools = [tool('x'), tool(`y${two}`)]
    server.links.at(-1)?.notice('notifications/tools/list_changed')
  },
  level: (play, one, two) => {
    pick(play.present, one)?.call('logging/setLevel', { level: two % 2 === 0 ? 'debug' : 'error' })
  },
  log: (play, one) => {
    pick(play.world.servers, one)?.links.at(-1)?.notice('notifications/message', { level: 'error', data: 1 })
  },
  leave: (play, one) => pick(play.present, one)?.leave(),
  lose: (play, one) => {
    pick(
      play.world.servers.flatMap(server => server.links),
      one,
    )?.drop()
  },
  pass: ({ world }, one) => world.pass((one + 1) * 100),
  settle: () => settled(),
}

const script = fc.array(
  fc.tuple(fc.constantFrom('call', 'call', 'answer', 'ask', ...Object.keys(DEEDS)), fc.nat(20), fc.nat(20)),
  { maxLength: 60 },
)

/** What is wrong at the moment; undefined if nothing. */
const flaw = (play: Play): string | undefined => {
  for (const call of [...play.clients, ...play.listeners].flatMap(client => client.calls)) {
    if (call.ends.length > 1) return 'a call ended twice'
    if (call.late > 0) return 'something was said after the end of a call'
    if (
      call.progresses.some((value, index) => index > 0 && Number(value) <= Number(call.progresses[index - 1]))
    )
      return 'progress did not increase'
  }
  for (const [n, call] of play.calls) {
    const [end] = call.ends
    const told = end?.kind === 'result' ? (JSON.parse(end.result.toString()) as { n: number }).n : n
    if (told !== n) return `call ${n} got the answer to ${told}`
  }
  for (const { told } of play.listeners.flatMap(client => client.calls)) {
    if (told.some(([method], index) => (method === ACKNOWLEDGED) !== (index === 0)))
      return 'a change was told before it was promised'
  }
  for (const request of play.requests) {
    if (request.cancels.length > 1) return 'a call was cancelled twice'
    if (play.callOf(request)?.isCancelled === true && !request.isOver) return 'a cancelled call goes on'
  }
  if (play.asks.some(ask => ask.outcomes.length > 1)) return 'a question was answered twice'
  for (const client of play.clients)
    for (const { during } of client.asked)
      if (during !== undefined && during.client !== client)
        return 'a question came on the call of another client'
  return undefined
}

/** Ends everything that is still open, as a server that answers and clients that leave would. */
const wind = async (play: Play): Promise<string | undefined> => {
  await settled()
  for (const request of play.open)
    request.answer({ content: [], n: (request.params as { arguments: { n: number } }).arguments.n })
  await play.world.pass(60_000, 10_000)
  for (const request of play.open)
    request.answer({ content: [], n: (request.params as { arguments: { n: number } }).arguments.n })
  await settled()
  play.world.router.closing()
  const open = [...play.clients, ...play.listeners]
    .flatMap(client => client.calls)
    .filter(call => !call.isOver)
  if (open.length > 0) return `${open.length} calls never ended: ${open[0]?.method}`
  for (const client of [...play.clients, ...play.listeners]) client.leave()
  await settled()
  const unanswered = play.asks.filter(ask => !ask.isWithdrawn && ask.outcomes.length !== 1)
  if (unanswered.length > 0) return `${unanswered.length} questions without exactly one answer`
  const { load, pool } = play.world.router
  if (Object.values(load).some(count => count !== 0)) return `kept: ${JSON.stringify(load)}`
  for (const server of pool.servers)
    for (const connection of server.connections)
      if (connection.clients.size > 0) return 'a client is still a user'
  await play.world.router.close()
  return play.world.clock.pending === 0 ? flaw(play) : `${play.world.clock.pending} timers are left`
}

t.test(
  'for any actions of clients and servers, every call ends once at its client, every question is answered once, nothing is kept',
  async t => {
    const property = fc.asyncProperty(script, async deeds => {
      const play = new Play()
      for (let index = 0; index < 3; index += 1) await DEEDS['join']?.(play, index, 0)
      for (const [deed, one, two] of deeds) {
        await DEEDS[deed]?.(play, one, two)
        const wrong = flaw(play)
        if (wrong !== undefined) throw new Error(`after ${deed}: ${wrong}`)
      }
      const wrong = await wind(play)
      if (wrong !== undefined) throw new Error(wrong)
    })
    await t.resolves(fc.assert(property, runs(300)))
  },
)
