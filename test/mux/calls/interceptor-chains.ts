import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { rawText } from '../../../src/kernel/json/text.js'
import { failed, type Outcome, succeeded } from '../../../src/model/outcome.js'
import {
  CallRecord,
  type CallStage,
  type CallVerdict,
  type Interceptor,
  NEXT,
  TAKEN,
} from '../../../src/mux/calls/call-record.js'
import { ANSWER, InterceptorChains, resume, runChain } from '../../../src/mux/calls/interceptor-chains.js'
import { FakeCall, type FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'

const OK = succeeded(rawText('{"ok":1}'))
const OTHER = succeeded(rawText('{"ok":2}'))

const world = () => {
  const seen: string[] = []
  const at = (
    name: string,
    stage: CallStage,
    run: (outcome: Outcome | undefined) => CallVerdict | Promise<CallVerdict> = () => NEXT,
    more: Partial<Interceptor> = {},
  ): Interceptor => ({
    ...{ name, stage },
    ...more,
    run: (_, outcome) => {
      seen.push(`${name} ${stage}`)
      return run(outcome)
    },
  })
  const begin = (interceptors: readonly Interceptor[], method = 'tools/call') => {
    const call = new FakeCall({ serverRequests: 'pushed' } as FakeClient, method, {}, false)
    const chains = new InterceptorChains([ANSWER, ...interceptors]).for(method, 'pushed')
    const record = new CallRecord(call, chains, 0)
    resume(record, runChain(record, chains.request), () => seen.push('served'))
    return { call, record }
  }
  return { seen, at, begin }
}

t.test('a call passes its interceptors in order, synchronously, and its outcome in reverse order', t => {
  const { seen, at, begin } = world()
  const { record, call } = begin(['a', 'b'].flatMap(name => [at(name, 'request'), at(name, 'settled')]))
  t.same(seen, ['a request', 'b request', 'served'])
  record.end(OK)
  record.end(OTHER)
  t.same(seen.slice(3), ['b settled', 'a settled'])
  t.same(call.ends, [OK])
  t.end()
})

t.test('an interceptor that ends a call keeps it from the next ones', async t => {
  const rows: readonly (readonly [string, () => CallVerdict | Promise<CallVerdict>, unknown])[] = [
    ['an outcome', () => OK, [OK]],
    ['a promise of one', () => Promise.resolve(OK), [OK]],
    [
      'a fault',
      () => Promise.reject(new Fault('forbidden', 'no')),
      [{ kind: 'fault', fault: { code: 'forbidden' } }],
    ],
    ['taken', () => TAKEN, []],
  ]
  for (const [why, run, ends] of rows) {
    const { seen, at, begin } = world()
    const { call } = begin([at('a', 'request', run), at('b', 'request')])
    await settled()
    t.same(seen, ['a request'], why)
    t.match(call.ends, ends, why)
  }
  const { at, begin } = world()
  const thrown = begin([
    at('a', 'request', () => {
      throw new Fault('forbidden', 'no')
    }),
  ])
  t.match(thrown.call.ends, [{ fault: { code: 'forbidden' } }])
})

t.test(
  'a call that its client cancels during a wait does not continue, and settles without outcome',
  async t => {
    const { seen, at, begin } = world()
    const outcomes: unknown[] = []
    const { call } = begin([
      at('a', 'request', () => Promise.resolve(NEXT)),
      at('b', 'request'),
      at('c', 'settled', outcome => {
        outcomes.push(outcome)
        return NEXT
      }),
    ])
    call.cancel('user')
    await settled()
    t.same(seen, ['a request', 'c settled'])
    t.same(outcomes, [undefined])
    t.same(call.ends, [])
  },
)

t.test('an interceptor may replace an outcome, also later; a failing one makes it a fault', async t => {
  const { at, begin } = world()
  const replaced = begin([at('a', 'settled', () => Promise.resolve(OTHER))])
  replaced.record.end(OK)
  await settled()
  t.same(replaced.call.ends, [OTHER])
  const broken = begin([
    at('a', 'settled', () => {
      throw new Fault('internal', 'broken')
    }),
  ])
  broken.record.end(OK)
  t.match(broken.call.ends, [failed(new Fault('internal', 'broken'))])
})

t.test('each call has only the interceptors of its method, its mode and its kind', t => {
  const { at } = world()
  const chains = new InterceptorChains([
    at('all', 'request'),
    at('tools', 'request', undefined, { methods: ['tools/call'] }),
    at('returned', 'request', undefined, { clients: 'returned' }),
    at('answered', 'request', undefined, { seesAnswered: true }),
  ])
  const names = (one: { readonly request: readonly Interceptor[] }) => one.request.map(({ name }) => name)
  t.same(names(chains.for('tools/call', 'pushed')), ['all', 'tools', 'answered'])
  t.same(names(chains.for('made/up', 'returned')), ['all', 'returned', 'answered'])
  t.same(names(chains.answered), ['answered'])
  t.end()
})
