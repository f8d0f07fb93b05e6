import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import type { Call } from '../../src/model/links.js'
import { type Replica, ReplicaRoom } from '../support/replica-room.js'
import { FakeServerRequest } from '../support/server/fake-server.js'
import { shown } from '../support/values.js'
import type { FakeResponder } from '../support/wire/fake-http.js'

const ROUNDS = Number(process.env['INTERLEAVINGS'] ?? 100)
const POST = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** The same numbers each time. */
const randomOf = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

interface Person {
  readonly name: string
  readonly session: string
  readonly owner: Replica
}

const messagesIn = ({ isStream, body, messages }: FakeResponder) =>
  isStream ? messages : body === '' ? [] : [JSON.parse(body)]

t.test('answers and cancellations over any replica come out as they would in one process', async t => {
  const room = new ReplicaRoom()
  const all = await room.three()
  const random = randomOf(7)
  room.turnsOfLink = () => random(4)
  const turns = async (): Promise<void> => {
    for (let left = random(4); left > 0; left -= 1) await new Promise(resolve => setImmediate(resolve))
  }
  const people: Person[] = []
  for (const [n, owner] of all.entries())
    people.push({ name: `person ${n}`, session: await owner.begin(), owner })
  const round = async (n: number, { name, session, owner }: Person): Promise<void> => {
    const post = (body: object): FakeResponder =>
      (all[random(3)] as Replica).send('POST', { ...POST, 'mcp-session-id': session }, body)
    const id = `call ${n}`
    const mine = (call: Call): boolean => JSON.parse(String(call.id)) === id
    const isCancelled = random(2) === 0
    const isAsked = random(2) === 0
    const stream = post({ id, method: 'tools/call', params: { name: 't' } })
    await turns()
    const cancel = (): void =>
      void post({ method: 'notifications/cancelled', params: { requestId: id, reason: 'enough' } })
    const isEarly = isCancelled && random(2) === 0
    if (isEarly) cancel()
    await room.pass(1)
    const [call, ...more] = owner.handler.calls.filter(mine)
    t.same(more, [], `${id} ran once at most`)
    const asked = new FakeServerRequest()
    if (isAsked && call !== undefined) {
      call.client.ask(asked, call)
      await turns()
      await room.pass(1)
      const question = messagesIn(stream).find(({ method }) => method === 'roots/list')
      if (question !== undefined) {
        post({ id: question.id, result: { roots: [{ uri: `file:///${name}/${n}` }] } })
        if (random(2) === 0) post({ id: question.id, result: { roots: [] } })
      }
    }
    await turns()
    if (isCancelled && !isEarly) cancel()
    await turns()
    if (!isCancelled) {
      await room.pass(1)
      call?.end({ kind: 'fault', fault: new Fault('internal', name) })
    }
    await room.pass(1)
    const ends = messagesIn(stream).filter(message => 'result' in message || 'error' in message)
    t.equal(ends.length, isCancelled ? 0 : 1, `${id} was answered as it should be`)
    for (const end of ends) t.match(end, { id, error: { message: name } })
    if (isCancelled) t.equal(call === undefined || owner.handler.cancels.includes('tools/call enough'), true)
    for (const outcome of asked.outcomes)
      t.match(shown(outcome), new RegExp(`file:///${name}/${n}"|cancelled|over|gone|roots":\\[\\]`))
    t.ok(asked.outcomes.length <= 1, 'a question is answered once')
    owner.handler.calls.length = 0
    owner.handler.cancels.length = 0
  }
  for (let n = 0; n < ROUNDS; n += 1) await Promise.all(people.map((each, at) => round(3 * n + at, each)))
  t.equal(
    room.replicas.reduce((sum, { cluster }) => sum + cluster.status().lost, 0),
    0,
  )
})
