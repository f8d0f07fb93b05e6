import t from 'tap'
import { textOf } from '../../../../src/kernel/json/text.js'
import type { CallSink, Downlink } from '../../../../src/model/links.js'
import { succeeded } from '../../../../src/model/outcome.js'
import type { RoutedRecord } from '../../../../src/mux/calls/call-record.js'
import { InFlightCall } from '../../../../src/mux/calls/in-flight-call.js'
import type { Connection } from '../../../../src/peers/connection.js'
import { LegacyAsk, ModernCall, Parking } from '../../../support/proxy/parking.js'
import { recordOf } from '../../../support/proxy/records.js'

const ACCEPT = { action: 'accept' }

/** A park in front of a real live call, at a server that does nothing by itself. */
const running = () => {
  const parking = new Parking()
  const call = new ModernCall()
  const deeds: string[] = []
  const server: { sink?: CallSink } = {}
  const link = {
    call: (_: unknown, sink: CallSink) => {
      server.sink = sink
      return { cancel: (reason: string) => deeds.push(`cancel ${reason}`) }
    },
  } as unknown as Downlink
  const timeouts = { connectMs: 1000, listMs: 1000, callMs: 300_000, totalMs: 3_600_000 }
  const connection = {
    server: { name: 'a', alias: 'a', replay: false, timeouts },
    carry: () => false,
    served: () => undefined,
  } as unknown as Connection
  const { park } = parking.begin(call, connection)
  const record = Object.assign(recordOf(call, { ownName: 'x' }), {
    ...{ front: park, connection, party: 1, exposed: 'x', path: ['name'] },
    totalAtMs: parking.clock.nowMs() + timeouts.totalMs,
  }) as RoutedRecord
  const live = new InFlightCall(record, link, {
    clock: parking.clock,
    calls: { remove: () => deeds.push('forgotten'), depart: () => undefined, isAsked: () => false },
    presenter: { present: (_, outcome) => outcome },
    run: sink => link.call({ method: 'tools/call', params: undefined, wantsProgress: false }, sink),
    firstCalled: () => undefined,
    taskOf: () => {
      throw new Error('no task comes back')
    },
    again: () => undefined,
  })
  live.start()
  const ask = new LegacyAsk(deeds)
  park.ask(ask, live)
  parking.collect()
  return { parking, call, park, live, ask, deeds, server }
}

t.test(
  'a live call takes a park for its client: it waits while parked, and its result ends the retry',
  async t => {
    const { parking, call, live, ask, server } = running()
    parking.clock.advance(400_000)
    live.checkTime(parking.clock.nowMs())
    t.ok(live.isRunning, 'a person may take longer than a server')
    const retry = parking.retry(call.state, { '1-1': ACCEPT })
    t.same(ask.answers, [ACCEPT])
    server.sink?.ended(succeeded(textOf({ content: [] })))
    t.same(retry.call.ends, [{ content: [] }])
    t.equal(parking.calls.size, 0)
  },
)

t.test('silence counts again once the question is answered', async t => {
  const { parking, call, live, deeds } = running()
  const retry = parking.retry(call.state, { '1-1': ACCEPT })
  parking.clock.advance(300_000)
  live.checkTime(parking.clock.nowMs())
  t.match(retry.call.ended, { fault: 'timeout' })
  t.match(deeds, ['answer elicitation/create', 'cancel timed out', 'forgotten'])
})

t.test('at the deadline a live call is cancelled at its server before the question is answered', async t => {
  const { parking, live, deeds, ask } = running()
  parking.clock.advance(600_000)
  t.same(deeds, ['forgotten', 'cancel input not provided', 'answer elicitation/create'])
  t.same(ask.answers, [{ action: 'cancel' }])
  t.notOk(live.isRunning)
})

t.test('a client that cancels its retry reaches the live call and its server', async t => {
  const { parking, call, park, live, deeds } = running()
  const retry = parking.retry(call.state, { '1-1': ACCEPT })
  retry.call.cancel('user')
  t.same(deeds.slice(1), ['forgotten', 'cancel user'])
  t.notOk(live.isRunning)
  t.equal(park.at, 'over')
})

t.test('a result while parked answers the question for the live call, and waits for the client', async t => {
  const { parking, call, ask, server, deeds } = running()
  server.sink?.ended(succeeded(textOf({ content: [], isError: true })))
  t.same(ask.answers, [{ action: 'cancel' }])
  t.same(deeds, ['forgotten', 'answer elicitation/create'])
  t.same(parking.retry(call.state).call.ends, [{ content: [], isError: true }])
})
