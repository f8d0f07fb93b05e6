import t from 'tap'
import { projectServerRequest } from '../../../../src/eras/legacy/project/server-request.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { textOf, valueOf } from '../../../../src/kernel/json/text.js'
import { LimitCounters } from '../../../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS } from '../../../../src/kernel/limits.js'
import type { CallSink, Request, ServerRequest } from '../../../../src/model/links.js'
import { failed, succeeded } from '../../../../src/model/outcome.js'
import type { ClientCapabilities } from '../../../../src/model/peer.js'
import { planRound, type RoundContext } from '../../../../src/mux/input-required/rounds/input-rounds.js'
import type { InputSource } from '../../../../src/mux/input-required/rounds/question-round.js'
import { ROUND_LIMITS, RoundDriver } from '../../../../src/mux/input-required/rounds/round-driver.js'
import { FakeClock } from '../../../support/fake-clock.js'
import { valueOfOutcome } from '../../../support/proxy/parking.js'
import { progressOf } from '../../../support/values.js'

const FORM = {
  method: 'elicitation/create',
  params: { message: 'm', requestedSchema: { type: 'object', properties: {} } },
}
const PAGE = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Confirm', url: 'https://pay.example/c' },
}
const SAMPLING = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 9 } }
const ROOTS = { method: 'roots/list' }
const ACCEPT = { action: 'accept' }
const asking = (inputRequests: object, requestState?: string): object => ({
  resultType: 'input_required',
  inputRequests,
  requestState,
})

class Try {
  readonly params: unknown
  readonly sink: CallSink
  readonly cancels: unknown[] = []

  constructor(request: Request, sink: CallSink) {
    this.params = request.params && valueOf(request.params)
    this.sink = sink
  }

  returns(result: object): void {
    const wantsInput = 'resultType' in result && result.resultType === 'input_required'
    this.sink.ended({ kind: wantsInput ? 'input' : 'result', result: textOf(result) })
  }
}

const CAPABILITIES: ClientCapabilities = {
  roots: { listChanged: false },
  sampling: { tools: false, context: false },
  elicitation: { form: true, url: true },
}

const projectFor =
  (capabilities: ClientCapabilities): RoundContext['project'] =>
  (method, params) =>
    projectServerRequest(method, params, {
      revision: '2025-11-25',
      capabilities,
      isShared: false,
      newElicitationId: () => 'e1',
    })

class Scene {
  readonly clock = new FakeClock()
  readonly tries: Try[] = []
  readonly asks: ServerRequest[] = []
  readonly withdrawn: string[] = []
  readonly ends: unknown[] = []
  readonly said: unknown[] = []
  readonly driver: RoundDriver
  refuses = false

  constructor(options: Partial<InputSource & RoundContext> = {}, method = 'tools/call') {
    const link = {
      call: (request: Request, sink: CallSink) => {
        if (this.refuses) throw new Fault('overloaded', 'too much')
        const one = new Try(request, sink)
        this.tries.push(one)
        return { cancel: (reason: unknown) => one.cancels.push(reason) }
      },
    }
    const sink: CallSink = {
      progress: ({ params }) => this.said.push(valueOf(params)),
      ended: outcome => {
        this.said.push('end')
        this.ends.push(valueOfOutcome(outcome))
      },
    }
    this.driver = new RoundDriver(
      link,
      { method, params: textOf({ name: 'pay', arguments: { amt: 5 } }), wantsProgress: true },
      sink,
      {
        server: 'b',
        plan: result => planRound(result, { server: 'b', project: projectFor(CAPABILITIES), ...options }),
        clock: this.clock,
        account: new LimitCounters().unread,
        limits: ROUND_LIMITS,
        ask: ask => {
          this.asks.push(ask)
          ask.onWithdrawn = reason => this.withdrawn.push(`${ask.method}: ${reason}`)
        },
        elicitationComplete: id => this.said.push(`complete ${id}`),
        ...options,
      },
    )
    this.driver.start()
  }

  get last(): Try {
    const last = this.tries.at(-1)
    if (last === undefined) throw new Error('nothing was sent')
    return last
  }

  answer(index: number, result: object): void {
    this.asks[index]?.answer(succeeded(textOf(result)))
  }
}

const error = (words: string) => ({ content: [{ type: 'text', text: words }], isError: true })

t.test(
  'a page that a server wants visited is put to the client, and the request made again with its answer',
  async t => {
    const scene = new Scene()
    scene.last.returns(asking({ ok: PAGE }, 'S1'))
    t.same(
      scene.asks.map(({ method, params }) => [method, params && valueOf(params)]),
      [['elicitation/create', { ...PAGE.params, elicitationId: 'e1' }]],
    )
    scene.answer(0, ACCEPT)
    t.same(scene.last.params, {
      name: 'pay',
      arguments: { amt: 5 },
      inputResponses: { ok: ACCEPT },
      requestState: 'S1',
    })
    scene.last.returns({ resultType: 'complete', content: [] })
    t.same(scene.said, ['complete e1', 'end'])
    t.same(scene.ends, [{ resultType: 'complete', content: [] }])
    t.equal(scene.clock.pending, 0)
  },
)

t.test('a page that was not visited, or whose request failed, is not reported as complete', async t => {
  for (const [answer, outcome] of [
    [{ action: 'decline' }, succeeded(textOf({}))],
    [ACCEPT, failed(new Fault('disconnected', 'gone'))],
  ] as const) {
    const scene = new Scene()
    scene.last.returns(asking({ ok: PAGE }))
    scene.answer(0, answer)
    scene.last.sink.ended(outcome)
    t.same(scene.said, ['end'])
  }
})

t.test('all questions of a round are asked at once, and the retry waits for the last answer', async t => {
  const scene = new Scene()
  scene.last.returns(asking({ a: FORM, b: ROOTS, c: SAMPLING }, 'S'))
  t.equal(scene.asks.length, 3)
  scene.answer(1, { roots: [] })
  scene.answer(0, ACCEPT)
  scene.answer(0, { action: 'decline' })
  t.equal(scene.tries.length, 1)
  const sample = { role: 'assistant', content: { type: 'text', text: 'x' }, model: 'm' }
  scene.answer(2, sample)
  t.match(scene.last.params, { inputResponses: { a: ACCEPT, b: { roots: [] }, c: sample } })
  scene.last.returns(asking({ d: FORM }))
  scene.answer(3, ACCEPT)
  t.strictSame(
    scene.last.params,
    { name: 'pay', arguments: { amt: 5 }, inputResponses: { d: ACCEPT } },
    'only of this round',
  )
})

t.test('a server that only wants time gets some, and is asked again with its state', async t => {
  const scene = new Scene()
  let passed = 0
  for (const pause of [250, 500, 1000]) {
    scene.last.returns({ resultType: 'input_required', requestState: 'LOAD' })
    scene.clock.advance(pause - 1)
    t.equal(scene.tries.length, passed + 1)
    scene.clock.advance(1)
    passed += 1
    t.equal(scene.tries.length, passed + 1)
  }
  t.strictSame(scene.last.params, { name: 'pay', arguments: { amt: 5 }, requestState: 'LOAD' })
  scene.last.returns(asking({ r: ROOTS }))
  scene.answer(0, { roots: [] })
  scene.last.returns({ resultType: 'input_required', requestState: 'LOAD' })
  scene.clock.advance(250)
  t.equal(scene.tries.length, 6, 'a question begins the pauses anew')
})

t.test(
  'a refused completion ends the request with the client’s words, and the other questions with it',
  async t => {
    const scene = new Scene()
    scene.last.returns(asking({ q: SAMPLING, f: FORM }, 'S'))
    scene.asks[0]?.answer({
      kind: 'error',
      error: textOf({ code: -1, message: 'User rejected sampling request' }),
    })
    t.same(scene.ends, [
      error('Server b needed a model completion; the client answered: User rejected sampling request'),
    ])
    t.same(scene.withdrawn, ['elicitation/create: the request that it belongs to is over'])
    scene.answer(1, ACCEPT)
    t.equal(scene.tries.length, 1)
    t.equal(scene.clock.pending, 0)
  },
)

t.test(
  'a question beyond the client’s capabilities is not asked, and neither are the others of its round',
  async t => {
    const can: ClientCapabilities = {
      roots: { listChanged: false },
      sampling: undefined,
      elicitation: undefined,
    }
    for (const [method, end] of [
      ['tools/call', error('Server b asked for input this client cannot provide: sampling')],
      [
        'prompts/get',
        { fault: 'internal', message: 'Server b asked for input this client cannot provide: sampling' },
      ],
      [
        'completion/complete',
        { fault: 'internal', message: 'Server b asked for input this client cannot provide: sampling' },
      ],
    ] as const) {
      const scene = new Scene({ project: projectFor(can) }, method)
      scene.last.returns(asking({ r: ROOTS, q: SAMPLING }))
      t.same(scene.asks, [])
      t.same(scene.ends, [end])
    }
  },
)

t.test('a server that asks for ever is not asked again after ten rounds', async t => {
  const scene = new Scene()
  for (let round = 0; round < 10; round += 1) {
    scene.last.returns(asking({ ok: PAGE }))
    scene.answer(round, ACCEPT)
  }
  scene.last.returns(asking({ ok: PAGE }))
  t.same(scene.ends, [error('Server b asked for input more than 10 times')])
  t.same(scene.said, ['end'], 'no page is reported as complete')
  t.equal(scene.tries.length, 11)
  t.equal(scene.asks.length, 10)
})

t.test('a person who does not answer in time is asked no more', async t => {
  const scene = new Scene()
  scene.last.returns(asking({ f: FORM }))
  scene.clock.advance(599_999)
  t.same(scene.ends, [])
  scene.clock.advance(1)
  t.same(scene.ends, [error('Server b asked for input, but no answer arrived in time')])
  t.equal(scene.withdrawn.length, 1)
})

t.test('once a round is answered its time does not count: the server may take its own', async t => {
  const scene = new Scene()
  scene.last.returns(asking({ f: FORM }))
  scene.answer(0, ACCEPT)
  scene.clock.advance(1_000_000)
  t.same(scene.ends, [])
  scene.last.returns({ content: [] })
  t.same(scene.ends, [{ content: [] }])
})

t.test('all rounds together take no longer than the total', async t => {
  const scene = new Scene({ limits: { rounds: 10, roundMs: 1000, totalMs: 1500 } })
  scene.last.returns(asking({ f: FORM }))
  scene.clock.advance(900)
  scene.answer(0, ACCEPT)
  scene.last.returns(asking({ f: FORM }))
  scene.clock.advance(600)
  t.match(scene.ends, [{ isError: true }])
  const slow = new Scene({ limits: { rounds: 10, roundMs: 1000, totalMs: 1500 } })
  slow.clock.advance(1500)
  slow.last.returns(asking({ f: FORM }))
  t.same([slow.asks, slow.ends.length], [[], 1])
})

t.test('a client that cancels is asked no more, and a running server is notified', async t => {
  const scene = new Scene()
  scene.last.returns(asking({ f: FORM }))
  scene.driver.cancel('user')
  scene.driver.cancel('again')
  t.same(scene.withdrawn, ['elicitation/create: user'])
  scene.answer(0, ACCEPT)
  const working = new Scene()
  working.driver.cancel('user')
  t.same(working.last.cancels, ['user'])
  working.last.returns({})
  const pausing = new Scene()
  pausing.last.returns({ resultType: 'input_required', requestState: 'S' })
  pausing.driver.cancel('user')
  pausing.clock.advance(10_000)
  for (const one of [scene, working, pausing]) {
    t.same([one.tries.length, one.ends, one.clock.pending], [1, [], 0])
  }
})

t.test('progress of every try reaches the client, and none of a try that is over', async t => {
  const scene = new Scene()
  const [first] = scene.tries
  first?.sink.progress(progressOf({ progress: 1 }))
  first?.returns(asking({ f: FORM }))
  first?.sink.progress(progressOf({ progress: 2 }))
  first?.returns({})
  scene.answer(0, ACCEPT)
  scene.last.sink.progress(progressOf({ progress: 3 }))
  t.same(scene.said, [{ progress: 1 }, { progress: 3 }])
  t.same(scene.ends, [])
})

t.test('a retry that cannot be sent ends the request', async t => {
  const scene = new Scene()
  scene.last.returns(asking({ f: FORM }))
  scene.refuses = true
  scene.answer(0, ACCEPT)
  t.same(scene.ends, [{ fault: 'overloaded', message: 'too much' }])
  t.equal(scene.clock.pending, 0)
})

t.test('notifications that arrive during a question count; without room the client is not asked', async t => {
  const account = new LimitCounters({ limits: { ...DEFAULT_LIMITS, unread: 1024 * 1024 } }).unread
  const scenes = [new Scene({ account }), new Scene({ account })]
  for (const { last } of scenes) last.returns(asking({ ok: PAGE }, 'S'.repeat(400_000)))
  t.same(
    scenes.map(({ asks }) => asks.length),
    [1, 0],
  )
  t.ok(account.bytes >= 400_000)
  t.same(scenes[1]?.ends, [error('Server b asked for input while too many bytes wait for clients')])
  scenes[0]?.answer(0, ACCEPT)
  t.equal(account.bytes, 0)
})
