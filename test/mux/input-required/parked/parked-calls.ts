import fc from 'fast-check'
import t from 'tap'
import { Fault } from '../../../../src/kernel/faults.js'
import { textOf } from '../../../../src/kernel/json/text.js'
import { failed } from '../../../../src/model/outcome.js'
import { NO_CAPABILITIES } from '../../../../src/model/peer.js'
import { PARK_LIMITS } from '../../../../src/mux/input-required/parked/parked-calls.js'
import { runs } from '../../../support/property.js'
import {
  type LegacyAsk,
  ModernCall,
  type Parked,
  Parking,
  parkingConnection,
} from '../../../support/proxy/parking.js'
import { boundsOf, progressOf } from '../../../support/values.js'

const ACCEPT = { action: 'accept', content: { seat: '12A' } }
const SAMPLE = { role: 'assistant', content: { type: 'text', text: 'a' }, model: 'm' }
const ROOTS = { roots: [{ uri: 'file:///w' }] }
const SAMPLING = 'sampling/createMessage'
const FORM = 'elicitation/create'
const BOOKED = { content: [{ type: 'text', text: 'booked 12A' }] }
const REFUSED = { code: 'invalid-params', message: 'Invalid or expired requestState' }

/** Everything is as before anything happened. */
const nothingIsLeft = (t: { equal(one: unknown, two: unknown): boolean }, parking: Parking): void => {
  t.equal(parking.calls.size, 0)
  t.equal(parking.clock.pending, 0)
}

t.test('a question ends the request; its answer reaches the server, whose result ends the retry', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const ask = one.ask(FORM, { message: 'Seat?' })
  t.ok(one.call.isOpen, 'the window is open')
  parking.collect()
  t.match(one.call.ended, {
    resultType: 'input_required',
    inputRequests: { '1-1': { method: FORM, params: { mode: 'form', message: 'Seat?' } } },
  })
  t.equal(parking.calls.size, 1)
  t.equal(parking.calls.on(parking.connection), 1)
  const { call, was } = parking.retry(one.call.state, { '1-1': ACCEPT })
  t.equal(was, 'taken')
  t.same(ask.answers, [ACCEPT])
  t.ok(call.isOpen)
  one.result(BOOKED)
  t.same(call.ends, [BOOKED])
  t.equal(one.call.ends.length, 1)
  t.same(one.deeds, ['answer elicitation/create'])
  nothingIsLeft(t, parking)
})

t.test(
  'two questions in the window form one round; an unanswered one is asked again under a new key',
  async t => {
    const parking = new Parking()
    const one = parking.begin()
    const roots = one.ask('roots/list', undefined)
    parking.clock.advance(9)
    const sampling = one.ask(SAMPLING, { maxTokens: 5, _meta: { progressToken: 'k' } })
    parking.collect()
    t.same(one.call.asked, { '1-1': 'roots/list', '1-2': SAMPLING })
    const second = parking.retry(one.call.state, { '1-1': ROOTS })
    t.same(roots.answers, [ROOTS])
    t.same(second.call.asked, { '2-1': SAMPLING })
    const third = parking.retry(second.call.state, { '2-1': SAMPLE, '1-1': { roots: [] }, '1-2': SAMPLE })
    t.same(roots.answers, [ROOTS], 'a key of an earlier round means nothing')
    t.same(sampling.answers, [SAMPLE])
    t.ok(third.call.isOpen)
    one.result()
    nothingIsLeft(t, parking)
  },
)

t.test('a question that comes while the call is parked waits for the next round', async t => {
  const parking = new Parking()
  const one = parking.begin()
  one.ask()
  parking.collect()
  const late = one.ask('roots/list', undefined)
  const { call } = parking.retry(one.call.state, { '1-1': ACCEPT, '1-2': ROOTS })
  t.same(late.answers, [])
  t.same(call.asked, { '2-1': 'roots/list' })
})

t.test('a malformed answer refuses the retry and answers nothing; a better one still counts', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const [form, sampling] = [one.ask(), one.ask(SAMPLING, {})]
  parking.collect()
  for (const responses of [{ '1-1': ACCEPT, '1-2': {} }, { '1-1': 'yes' }, [], 'x']) {
    const { call, was } = parking.retry(one.call.state, responses)
    t.match(was, { code: 'invalid-params' })
    t.ok(call.isOpen, 'whoever asked ends it')
  }
  t.same([...form.answers, ...sampling.answers], [])
  t.equal(parking.retry(one.call.state, { '1-1': ACCEPT, '1-2': SAMPLE }).was, 'taken')
  t.same([form.answers, sampling.answers], [[ACCEPT], [SAMPLE]])
})

t.test('of two retries of one round the first proceeds, and the server gets one answer', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const ask = one.ask()
  parking.collect()
  const first = parking.retry(one.call.state, { '1-1': ACCEPT })
  t.match(parking.retry(one.call.state, { '1-1': { action: 'decline' } }).was, REFUSED)
  t.match(parking.retry({ ...one.call.state, round: 2 }).was, REFUSED, 'a round that was not')
  t.match(parking.retry({ ...one.call.state, round: 0 }).was, REFUSED)
  t.same(ask.answers, [ACCEPT])
  one.result(BOOKED)
  t.same(first.call.ended, BOOKED)
  t.equal(parking.retry(one.call.state).was, 'gone')
})

t.test(
  'a client that lost the answer to its retry gets the questions again, and answers none twice',
  async t => {
    const parking = new Parking()
    const one = parking.begin()
    const [ask, other] = [one.ask(), one.ask(SAMPLING, {})]
    parking.collect()
    const lost = parking.retry(one.call.state, { '1-1': ACCEPT })
    const again = parking.retry(one.call.state, { '1-1': { action: 'decline' }, '1-2': SAMPLE })
    t.equal(again.was, 'taken')
    t.same(again.call.ended, lost.call.ended)
    t.same([ask.answers, other.answers], [[ACCEPT], []])
    t.equal(parking.retry(again.call.state, { '2-1': SAMPLE }).was, 'taken')
    t.same(other.answers, [SAMPLE])
  },
)

t.test('without a retry in time, the server gets a cancellation, then errors for its questions', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const [form, sampling, late] = [one.ask(), one.ask(SAMPLING, {}), one.ask('roots/list', undefined)]
  parking.collect()
  parking.clock.advance(599_999)
  t.same(one.deeds, [])
  parking.clock.advance(1)
  t.same(one.deeds, [
    'cancel input not provided',
    `answer ${FORM}`,
    `answer ${SAMPLING}`,
    'answer roots/list',
  ])
  t.same(form.answers, [{ action: 'cancel' }])
  const none = { fault: 'internal', message: 'Client did not provide input' }
  t.same([sampling.answers, late.answers], [[none], [none]])
  t.equal(one.held.size, 0)
  t.equal(parking.retry(one.call.state, { '1-1': ACCEPT }).was, 'gone')
  nothingIsLeft(t, parking)
})

t.test('each round has its own time, all of them together no more than the total', async t => {
  const parking = new Parking({ roundMs: 1000, totalMs: 2500 })
  const one = parking.begin()
  one.ask()
  parking.collect()
  let { call } = one
  for (let round = 1; round <= 2; round += 1) {
    parking.clock.advance(900)
    call = parking.retry(call.state, {}).call
  }
  parking.clock.advance(699)
  t.notOk(one.isCancelled)
  parking.clock.advance(1)
  t.ok(one.isCancelled)
})

t.test('a call that runs when the total is over ends with words instead of another round', async t => {
  const parking = new Parking({ roundMs: 1000, totalMs: 1500 })
  const one = parking.begin(new ModernCall({ method: 'prompts/get' }))
  one.ask()
  parking.collect()
  const { call } = parking.retry(one.call.state, { '1-1': ACCEPT })
  parking.clock.advance(2000)
  one.ask()
  parking.collect()
  t.same(call.ended, { fault: 'internal', message: 'Server a waited too long for input' })
  t.same(one.deeds.slice(1), ['cancel input not provided', `answer ${FORM}`])
  nothingIsLeft(t, parking)
})

t.test('a result that arrives between retries is kept for the next one, with any params', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const ask = one.ask()
  parking.collect()
  one.result(BOOKED)
  t.equal(one.park.ask(ask, { serverRequested: () => undefined, answered: () => undefined }), false)
  t.equal(parking.calls.size, 1)
  const { call, was } = parking.retry(one.call.state, { '1-1': 'nonsense' })
  t.equal(was, 'taken')
  t.same(call.ends, [BOOKED])
  t.same(ask.answers, [{ action: 'cancel' }])
  t.notOk(one.isCancelled)
  nothingIsLeft(t, parking)
})

t.test('an unclaimed result expires, and one that is too large is not kept', async t => {
  const parking = new Parking({ resultBytes: 100 })
  const [one, two] = [parking.begin(), parking.begin()]
  for (const each of [one, two]) each.ask()
  parking.collect()
  one.result(BOOKED)
  two.result({ content: [{ type: 'text', text: 'x'.repeat(100) }] })
  t.match(parking.retry(two.call.state).call.ended, { fault: 'too-large' })
  parking.clock.advance(600_000)
  t.equal(parking.retry(one.call.state).was, 'gone')
  t.notOk(one.isCancelled)
  nothingIsLeft(t, parking)
})

t.test('a result within the window ends the request at once', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const ask = one.ask()
  one.result(BOOKED)
  t.same(one.call.ends, [BOOKED])
  t.equal(ask.answers.length, 1)
  parking.collect()
  t.equal(one.call.ends.length, 1)
  nothingIsLeft(t, parking)
})

t.test('a live call that lets go of a question answers it if it is open, and never twice', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const [open, answered] = [one.ask(), one.ask(SAMPLING, {})]
  const standIns = [...one.held]
  parking.collect()
  parking.retry(one.call.state, { '1-2': SAMPLE })
  for (const standIn of [...standIns, ...standIns]) standIn.answer(failed(new Fault('cancelled', 'over')))
  t.same(open.answers, [{ action: 'cancel' }])
  t.same(answered.answers, [SAMPLE])
})

t.test('a withdrawn question is not asked, or no longer counts', async t => {
  const parking = new Parking()
  const one = parking.begin()
  one.ask().withdraw()
  parking.collect()
  t.ok(one.call.isOpen, 'nothing to ask')
  t.equal(parking.calls.size, 0)
  const ask = one.ask()
  parking.collect()
  ask.withdraw()
  const { call, was } = parking.retry(one.call.state, { '1-1': 'anything' })
  t.equal(was, 'taken')
  t.ok(call.isOpen)
  t.same(ask.answers, [])
  one.result(BOOKED)
  t.same(call.ended, BOOKED)
  nothingIsLeft(t, parking)
})

t.test(
  'a client that cancels its retry cancels the call, with its reason and before anything is answered',
  async t => {
    const parking = new Parking()
    const one = parking.begin()
    one.ask()
    parking.collect()
    one.call.cancel('too late')
    t.notOk(one.isCancelled, 'that request was over')
    const { call } = parking.retry(one.call.state, { '1-1': ACCEPT })
    const ask = one.ask()
    call.cancel('user')
    t.same(one.deeds, [`answer ${FORM}`, 'cancel user', `answer ${FORM}`])
    t.same(ask.answers, [{ action: 'cancel' }])
    t.same(call.ends, [])
    t.equal(parking.retry(one.call.state).was, 'gone')
    nothingIsLeft(t, parking)
  },
)

t.test('a server that asks for ever is cancelled after the last round, and the model reads why', async t => {
  const parking = new Parking({ rounds: 3 })
  const one = parking.begin()
  let { call } = one
  for (let round = 1; round <= 3; round += 1) {
    one.ask()
    parking.collect()
    t.same(Object.keys(call.asked), [`${round}-1`])
    call = parking.retry(call.state, { [`${round}-1`]: ACCEPT }).call
  }
  one.ask()
  parking.collect()
  t.same(call.ended, {
    content: [{ type: 'text', text: 'Server a asked for input more than 3 times' }],
    isError: true,
  })
  t.same(one.deeds.slice(-2), ['cancel input not provided', `answer ${FORM}`])
  nothingIsLeft(t, parking)
})

t.test('a client that answers nothing uses up its rounds', async t => {
  const parking = new Parking({ rounds: 3 })
  const one = parking.begin()
  const ask = one.ask()
  parking.collect()
  let { call } = one
  for (let round = 0; round < 3; round += 1) call = parking.retry(call.state).call
  t.match(call.ended, { isError: true })
  t.equal(ask.answers.length, 1)
})

t.test('no more is parked than allowed, for a principal and on a connection', async t => {
  const parking = new Parking({}, boundsOf({ parksPerPrincipal: 2, parks: 3 }))
  const connection = parkingConnection()
  const begin = (principal: string, on = connection): Parked =>
    parking.begin(new ModernCall({ principal }), on)
  const [first, second, third] = [begin('a'), begin('a'), begin('a', parkingConnection())]
  first.ask()
  second.ask()
  t.same([first.held.size, second.held.size], [1, 1])
  const refused = third.ask()
  t.equal(third.held.size, 0)
  t.equal(third.park.at, 'running')
  t.same(refused.answers, [], 'whoever asked answers it')
  t.equal(begin('b').ask().answers.length, 0)
  t.equal(parking.calls.on(connection), 3)
  const last = begin('c')
  last.ask()
  t.equal(last.held.size, 0)
  parking.collect()
  parking.retry(first.call.state, { '1-1': ACCEPT })
  t.equal(parking.calls.on(connection), 2, 'a call that runs again is not parked')
  last.ask()
  t.equal(last.held.size, 1)
  t.equal(parking.calls.size, 3)
})

t.test('at a limit, the call whose client has been away for longest makes room after a while', async t => {
  for (const bounds of [{ parksPerPrincipal: 2 }, { parks: 2 }]) {
    const parking = new Parking({}, boundsOf(bounds))
    const connection = parkingConnection()
    const begin = (): Parked => parking.begin(new ModernCall({ principal: 'a' }), connection)
    const calls = [begin(), begin(), begin()]
    const [oldest, next, last] = calls
    oldest?.ask()
    parking.collect()
    parking.clock.advance(29_000)
    next?.ask()
    parking.collect()
    last?.ask()
    t.equal(last?.held.size, 0, 'not yet')
    parking.clock.advance(1000)
    last?.ask()
    t.equal(oldest?.park.at, 'over')
    t.equal(next?.park.at, 'parked')
    t.equal(last?.held.size, 1)
    t.equal(parking.calls.size, 2)
  }
})

t.test('progress and log lines of the time between wait for a retry that wants them', async t => {
  const parking = new Parking()
  const one = parking.begin(new ModernCall({ wantsProgress: true }))
  const says = (progress: number): void => {
    one.park.progress(progressOf({ progress }))
    one.park.notify('notifications/message', textOf({ data: progress }))
  }
  says(0.2)
  one.ask()
  parking.collect()
  for (let n = 1; n <= 150; n += 1) says(n)
  t.same(one.call.progresses, [{ progress: 0.2 }])
  t.equal(one.call.told.length, 1)
  const { call } = parking.retry(one.call.state, { '1-1': ACCEPT }, new ModernCall({ wantsProgress: true }))
  t.same(call.progresses, [{ progress: 150 }])
  t.equal(call.told.length, 100)
  t.same(call.told[0], ['notifications/message', { data: 51 }])
  says(200)
  t.same(call.progresses.at(-1), { progress: 200 })
  one.ask()
  parking.collect()
  says(201)
  const deaf = parking.retry(call.state, { '2-1': ACCEPT })
  says(202)
  t.same([deaf.call.progresses, deaf.call.told], [[], []])
  t.equal(call.late + one.call.late, 0)
})

t.test('a server that wants progress on its question gets some every 15 s, and it rises', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const [ask, silent] = [one.ask(FORM, {}, true), one.ask(FORM, {})]
  parking.collect()
  parking.clock.advance(45_000)
  t.same(ask.progresses, [{ progress: 1 }, { progress: 2 }, { progress: 3 }])
  t.same(silent.progresses, [])
  const { call } = parking.retry(one.call.state, { '1-2': ACCEPT })
  parking.clock.advance(15_000)
  t.same(ask.progresses.at(-1), { progress: 4 })
  parking.retry(call.state, { '2-1': ACCEPT })
  parking.clock.advance(60_000)
  t.equal(ask.progresses.length, 4)
})

t.test('what the client of a retry cannot be asked is refused, though the first one could', async t => {
  const parking = new Parking()
  const one = parking.begin()
  const [form, roots] = [one.ask(), one.ask('roots/list', undefined)]
  parking.collect()
  const poor = new ModernCall({ can: { ...NO_CAPABILITIES, elicitation: { form: true, url: false } } })
  parking.retry(one.call.state, {}, poor)
  t.same(poor.asked, { '2-1': FORM })
  t.same(roots.answers, [{ fault: 'unknown-method', message: 'Roots not supported' }])
  const none = new ModernCall({ can: NO_CAPABILITIES })
  parking.retry(poor.state, {}, none)
  t.ok(none.isOpen, 'nothing is left to ask')
  t.equal(form.answers.length, 1)
  t.equal(one.park.client, none.client)
  t.equal(parking.calls.size, 0)
})

t.test('at the end of the proxy all that is parked ends as at its deadline; what runs goes on', async t => {
  const parking = new Parking()
  const [parked, finished, running] = [parking.begin(), parking.begin(), parking.begin()]
  parked.ask()
  finished.ask()
  parking.collect()
  finished.result()
  parking.calls.close()
  t.same(parked.deeds, ['cancel input not provided', `answer ${FORM}`])
  t.notOk(finished.isCancelled)
  running.result(BOOKED)
  t.same(running.call.ends, [BOOKED])
  nothingIsLeft(t, parking)
})

t.test('so much is parked, so long and so often', async t => {
  t.same(PARK_LIMITS, {
    windowMs: 10,
    roundMs: 600_000,
    totalMs: 3_600_000,
    rounds: 32,
    beatMs: 15_000,
    resultBytes: 1_048_576,
  })
})

// ── random play ──

interface Play {
  readonly parking: Parking
  readonly calls: Parked[]
  readonly upstream: ModernCall[]
  readonly asks: LegacyAsk[]
}

const pick = <T>(items: readonly T[], index: number): T | undefined =>
  items[index % Math.max(items.length, 1)]
const live = (play: Play): Parked[] => play.calls.filter(call => !call.isEnded && !call.isCancelled)
const ANSWERS: Readonly<Record<string, unknown>> = { [FORM]: ACCEPT, [SAMPLING]: SAMPLE, 'roots/list': ROOTS }

const DEEDS: Readonly<Record<string, (play: Play, one: number, two: number) => void>> = {
  call: ({ parking, calls, upstream }, one) => {
    const call = new ModernCall({ principal: `${one % 3}`, wantsProgress: one % 2 === 0 })
    upstream.push(call)
    calls.push(parking.begin(call))
  },
  question: (play, one, two) => {
    const call = pick(live(play), one)
    const method = pick(Object.keys(ANSWERS), two)
    if (call === undefined) return
    const before = call.held.size
    const ask = call.ask(method, { message: 'm' }, two % 2 === 0)
    if (call.held.size > before) play.asks.push(ask)
  },
  withdraw: ({ asks }, one) =>
    pick(
      asks.filter(ask => ask.answers.length === 0),
      one,
    )?.withdraw(),
  result: (play, one) => pick(live(play), one)?.result(),
  progress: (play, one, two) => {
    const call = pick(live(play), one)
    call?.park.progress(progressOf({ progress: two }))
    call?.park.notify('notifications/message', textOf({ data: two }))
  },
  cancel: ({ upstream }, one) =>
    pick(
      upstream.filter(call => call.isOpen),
      one,
    )?.cancel('enough'),
  retry: ({ parking, upstream }, one, two) => {
    const asked = pick(
      upstream.filter(call => Object.hasOwn(call.ended ?? {}, 'requestState')),
      one,
    )
    if (asked === undefined) return
    const entries = Object.entries(asked.asked).map(([key, method]) => [key, ANSWERS[method]] as const)
    const given = two % 4 === 0 ? entries.slice(1) : entries
    const responses =
      two % 7 === 0 ? { ...Object.fromEntries(given), '1-1': 'nonsense' } : Object.fromEntries(given)
    const { call, was } = parking.retry(
      asked.state,
      responses,
      new ModernCall({ wantsProgress: two % 2 === 0 }),
    )
    if (was === 'taken') upstream.push(call)
    else if (!call.isOpen) throw new Error('a retry that was not taken was ended')
  },
  pass: ({ parking }, one, two) =>
    parking.clock.advance([5, 10, 1000, 16_000, 300_000][(one + two) % 5] ?? 0),
}

/** What moves a call along happens more often than what ends it. */
const OFTEN = ['question', 'question', 'pass', 'pass', 'retry', 'retry', 'retry']

const deed = fc.tuple(
  fc.constantFrom(...Object.keys(DEEDS), ...OFTEN),
  fc.nat({ max: 1000 }),
  fc.nat({ max: 1000 }),
)

t.test('in any order of events: one answer per question, one end per request, nothing kept', async t => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.array(deed, { minLength: 30, maxLength: 100 }), deeds => {
      const play: Play = {
        parking: new Parking({ rounds: 4 }, boundsOf({ parksPerPrincipal: 3 })),
        calls: [],
        upstream: [],
        asks: [],
      }
      const isSound = (): boolean =>
        play.asks.every(ask => ask.answers.length <= 1 && (!ask.isWithdrawn || ask.answers.length === 0)) &&
        play.upstream.every(call => call.ends.length <= 1 && call.late === 0) &&
        play.calls.every(call => call.deeds.filter(text => text.startsWith('cancel')).length <= 1)
      for (const [name, one, two] of deeds) {
        DEEDS[name]?.(play, one, two)
        for (const call of play.calls) seen.add(call.park.at)
        if (!isSound()) return false
      }
      // Whatever still runs ends, and nobody comes back.
      for (const call of live(play)) call.result()
      play.parking.clock.advance(4_000_000)
      const isDone =
        play.asks.every(ask => ask.answers.length === (ask.isWithdrawn ? 0 : 1)) &&
        play.upstream.every(call => (call.ends.length === 1) !== call.isCancelled) &&
        play.calls.every(call => call.held.size === 0 && call.park.at === 'over')
      return isSound() && isDone && play.parking.calls.size === 0 && play.parking.clock.pending === 0
    }),
    runs(500),
  )
  t.same([...seen].sort(), ['collecting', 'finished', 'over', 'parked', 'running'], 'every state was seen')
})

t.test('data kept for absent clients is counted, and the largest is dropped first', async t => {
  const bounds = boundsOf({ unread: 100_000 })
  const parking = new Parking({}, bounds)
  const [small, large] = [parking.begin(), parking.begin()]
  small.ask(FORM, { message: 'x'.repeat(20_000) })
  large.ask(FORM, { message: 'x'.repeat(30_000) })
  t.equal(bounds.unread.bytes, 0, 'their requests are open')
  parking.collect()
  t.ok(bounds.unread.bytes > 50_000)
  large.park.notify('notifications/message', textOf({ data: 'x'.repeat(60_000) }))
  t.same(large.deeds, ['cancel input not provided', `answer ${FORM}`], 'as at its deadline')
  small.result({ content: [], text: 'x'.repeat(50_000) })
  t.ok(bounds.unread.bytes > 50_000)
  parking.retry(small.call.state, {}, new ModernCall())
  t.equal(bounds.unread.bytes, 0)
  nothingIsLeft(t, parking)
})
