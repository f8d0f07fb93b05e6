import { createServer, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type Answerer, PageRelay } from '../../../src/app/cluster/page-relay.js'
import type { ClusterMember } from '../../../src/cluster/engine/store.js'
import { Fault } from '../../../src/kernel/faults.js'
import type { NodeHandler } from '../../../src/transport/http/gate.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { FakeResponder, httpRequest } from '../../support/wire/fake-http.js'

const member = (id: string): ClusterMember => ({
  ...{ id, address: id, state: 'ready', version: '1', keys: [], sinceMs: 0, untilMs: 1 },
})

/** Replicas in one process: what one sends another is served there, or is not. */
class Room {
  readonly clock = new FakeClock()
  readonly relays = new Map<string, PageRelay>()
  readonly dead = new Set<string>()
  readonly stalled = new Set<string>()
  readonly left = new Set<string>()
  unanswered = 0
  aborted = 0
  fault = new Fault('unavailable', 'refused')
  eldest = 'a'
  /** Replicas whose lease is over. */
  readonly unsure = new Set<string>()
  /** Outdated views of replicas: the one that they take for the oldest. */
  readonly views = new Map<string, string>()

  /** A replica that knows what `answererOf` says, and its port. */
  async start(t: Test, id: string, answererOf: (path: string) => Answerer): Promise<number> {
    const cluster = this.#clusterOf(id)
    const relay = new PageRelay(cluster, this.clock)
    this.relays.set(id, relay)
    let open: NodeHandler = () => undefined
    const load = async (): Promise<void> => {
      open = relay.open({ answererOf, handle: answers(id) })
      await Promise.resolve()
    }
    relay.late(load)
    await load()
    const server = createServer((request, response) => open(request, response))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => server.close())
    return (server.address() as AddressInfo).port
  }

  #clusterOf(id: string): ConstructorParameters<typeof PageRelay>[0] {
    const others = (): readonly ClusterMember[] =>
      [...this.relays.keys()].filter(each => each !== id && !this.left.has(each)).map(member)
    const oldest = (): string => this.views.get(id) ?? this.eldest
    const eldest = (): ClusterMember | undefined => (oldest() === id ? undefined : member(oldest()))
    const isEldest = (): boolean => eldest() === undefined && !this.unsure.has(id)
    return {
      get others() {
        return others()
      },
      get eldest() {
        return eldest()
      },
      get isEldest() {
        return isEldest()
      },
      refresh: async () => {
        await settled()
        this.views.delete(id)
      },
      send: (to, { path, body }, listener) => {
        void (async () => {
          await settled()
          if (this.stalled.has(to.id)) {
            this.unanswered += 1
            return
          }
          if (this.dead.has(to.id)) {
            listener.ended(this.fault)
            return
          }
          const responder = new FakeResponder()
          const face = this.relays.get(to.id)?.endpointAt(path)
          face?.serve({ ...httpRequest('POST', {}), body }, responder)
          while (responder.status === 0) await settled()
          listener.head(responder.status, {})
          listener.data(Buffer.from(responder.body))
          listener.ended(undefined)
        })()
        const abort = (): void => {
          this.aborted += 1
        }
        return { pause() {}, resume() {}, discard() {}, abort }
      },
    }
  }
}

/** Says who answers, and what it was asked. */
const answers =
  (id: string): NodeHandler =>
  (request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
      if (request.url === '/broken') {
        response.destroy()
        return
      }
      response.appendHeader('set-cookie', 'a=1')
      response.appendHeader('set-cookie', 'b=2')
      response.writeHead(201, { 'content-type': 'text/plain' })
      response.write(`${id} ${request.method} `)
      const { cookie } = request.headers
      response.end(`${request.url} ${cookie} ${Buffer.concat(chunks)} ${request.socket.remoteAddress}`)
    })()
  }

const ask = (port: number, path: string, body = 'x=1') =>
  new Promise<{ status: number | undefined; headers: IncomingMessage['headers']; text: string }>(
    (resolve, reject) => {
      const options = { port, host: '127.0.0.1', path, method: 'POST', headers: { cookie: 'c=3' } }
      const sent = send(options, response => {
        let text = ''
        response.on('data', chunk => {
          text += String(chunk)
        })
        response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
      })
      sent.on('error', reject).end(body)
    },
  )

t.test('a request goes to the replica that began its exchange, or to the oldest one', async t => {
  const room = new Room()
  const known = (own: string) => (path: string) =>
    path.startsWith('/link') ? (path === `/link/${own}` ? 'here' : 'holder') : 'eldest'
  const [a, b] = [await room.start(t, 'a', known('a')), await room.start(t, 'b', known('b'))]
  const answer = await ask(b, '/token?q=1')
  t.match(answer, { status: 201, text: 'a POST /token?q=1 c=3 x=1 127.0.0.1' })
  t.same(answer.headers['set-cookie'], ['a=1', 'b=2'])
  t.match((await ask(a, '/token')).text, /^a /)
  t.match((await ask(a, '/link/b')).text, /^b /)
  t.match((await ask(b, '/link/b')).text, /^b /)
  t.match((await ask(a, '/link/nobody')).text, /^a /, 'who knows nothing of it says so')
  t.equal((await ask(b, '/broken')).status, 502)
  t.equal((await ask(b, '/token', 'x'.repeat(70_000))).status, 413)
})

t.test('without the eldest a request waits for the next one, and is never sent twice', async t => {
  const room = new Room()
  await room.start(t, 'a', () => 'eldest')
  const b = await room.start(t, 'b', () => 'eldest')
  room.dead.add('a')
  const waits = ask(b, '/token')
  const over = waits.then(() => true)
  const isOver = async (): Promise<boolean> => {
    await settled()
    return await Promise.race([over, Promise.resolve(false)])
  }
  for (let n = 0; n < 4; n += 1) {
    t.equal(await isOver(), false)
    room.clock.advance(250)
  }
  room.eldest = 'b'
  while (!(await isOver())) room.clock.advance(250)
  t.match((await waits).text, /^b /)

  room.eldest = 'a'
  room.fault = new Fault('disconnected', 'lost')
  const lost = await ask(b, '/token')
  t.match(lost, { status: 503, headers: { 'retry-after': '5' }, text: /temporarily_unavailable/ })
})

t.test('a request to a stalled replica gets 503 once its lease has ended, and is not repeated', async t => {
  const room = new Room()
  await room.start(t, 'a', () => 'eldest')
  const b = await room.start(t, 'b', () => 'eldest')
  room.stalled.add('a')
  const waits = ask(b, '/token')
  while (room.unanswered === 0) await settled()
  room.clock.advance(6000)
  t.equal(room.aborted, 0, 'the lease is still valid')
  room.left.add('a')
  room.eldest = 'b'
  room.clock.advance(250)
  t.equal(room.aborted, 1)
  t.match(await waits, { status: 503, headers: { 'retry-after': '5' }, text: /temporarily_unavailable/ })
  t.match((await ask(b, '/token')).text, /^b /, 'the next request is answered here')
})

t.test('a replica whose lease is over answers nothing that only the oldest one may answer', async t => {
  const room = new Room()
  const a = await room.start(t, 'a', () => 'eldest')
  await room.start(t, 'b', () => 'eldest')
  room.unsure.add('a')
  const waits = ask(a, '/token')
  while (room.clock.pending === 0) await settled()
  room.eldest = 'b'
  room.unsure.delete('a')
  room.clock.advance(250)
  t.match((await waits).text, /^b /, 'another one has become the oldest')
})

t.test('replicas that differ about the oldest one agree before one of them answers', async t => {
  const room = new Room()
  await room.start(t, 'a', () => 'eldest')
  await room.start(t, 'b', () => 'eldest')
  const c = await room.start(t, 'c', () => 'eldest')
  room.eldest = 'b'
  room.views.set('b', 'a')
  room.views.set('c', 'a')
  const waits = ask(c, '/token')
  let isOver = false
  void waits.then(() => {
    isOver = true
  })
  while (!isOver) {
    await settled()
    room.clock.advance(10)
  }
  t.match((await waits).text, /^b /, 'the one that was the oldest before does not')
})
