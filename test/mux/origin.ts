import t from 'tap'
import type { Asking } from '../../src/model/links.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../src/model/peer.js'
import { originOf } from '../../src/mux/origin.js'

interface Person {
  readonly name: string
  readonly asking: Asking
  readonly capabilities: ClientCapabilities
}

const able = (name: string, more: Partial<ClientCapabilities> = {}): Person => ({
  name,
  asking: 'pushed',
  capabilities: { ...NO_CAPABILITIES, sampling: { tools: false, context: false }, ...more },
})
const ann = able('ann')
const bob = able('bob')
const mute: Person = { name: 'mute', asking: 'pushed', capabilities: NO_CAPABILITIES }
/** Clients whose questions are returned. */
const eve: Person = { ...able('eve'), asking: 'returned' }
const dan: Person = { ...able('dan'), asking: 'returned' }

const call = (
  client: Person,
  name = `${client.name}'s`,
  more: { method?: string; isParked?: boolean } = {},
) => ({
  name,
  call: { client, method: more.method ?? 'tools/call' },
  isParked: more.isParked ?? false,
})
type Work = ReturnType<typeof call>

const annFirst = call(ann, 'first')
const annSecond = call(ann, 'second')
const bobs = call(bob)
const mutes = call(mute)
const eves = call(eve)
const evesParked = call(eve, 'parked', { isParked: true })
const evesParkedToo = call(eve, 'parked too', { isParked: true })
const evesCompletion = call(eve, 'completion', { method: 'completion/complete' })

/** evidence: about, running, only client → whose it is, and why */
const ROWS: readonly (readonly [
  about: Work | 'another' | undefined,
  running: readonly Work[],
  only: Person | undefined,
  expected: string,
  why: string,
])[] = [
  [annFirst, [annFirst, bobs], undefined, 'call first', 'the stream that it came on is evidence enough'],
  [annFirst, [annFirst, annSecond], ann, 'call first', 'the stream wins over the latest call'],
  [
    mutes,
    [mutes, annFirst],
    undefined,
    'incapable',
    'the stream names a client that cannot be asked: no other is',
  ],
  [undefined, [annFirst], undefined, 'call first', 'the only call under way'],
  [
    undefined,
    [mutes, annFirst, mutes],
    undefined,
    'call first',
    'calls of clients that cannot be asked do not count',
  ],
  [undefined, [annFirst, annSecond], undefined, 'call second', 'of several calls of one client, the latest'],
  [undefined, [annFirst, bobs], undefined, 'ambiguous', 'calls of two clients: never guess'],
  [undefined, [annFirst, bobs, annSecond], undefined, 'ambiguous', 'the order of calls does not matter'],
  [undefined, [], ann, 'client ann', 'nothing under way, but only one client ever used the connection'],
  [undefined, [], mute, 'incapable', 'the only client cannot be asked'],
  [undefined, [mutes], undefined, 'incapable', 'a call is under way, but its client cannot be asked'],
  [undefined, [mutes], mute, 'incapable', 'the same with the only client'],
  [undefined, [], undefined, 'none', 'there is nobody'],
  ['another', [annFirst], undefined, 'none', 'the stream of a call that is over is not that of another call'],
  ['another', [annFirst], ann, 'client ann', 'but the only client is the only client'],
  [undefined, [eves], eve, "call eve's", 'its answer can hold the question'],
  [undefined, [evesCompletion], eve, 'none', 'the answer to a completion cannot hold a question'],
  [evesCompletion, [evesCompletion, eves], eve, 'none', 'whatever else is under way'],
  [undefined, [evesCompletion, annFirst], undefined, 'call first', 'such a call does not count'],
  [undefined, [], eve, 'none', 'nobody is asked outside a call who is asked in answers'],
  [undefined, [eves, evesParked], undefined, "call eve's", 'of several calls, the latest that is not parked'],
  [undefined, [evesParked, evesParkedToo], undefined, 'call parked too', 'all are parked: the latest'],
  [undefined, [eves, call(dan)], undefined, 'ambiguous', 'calls of two such clients: never guess'],
]

t.test('a question is whose the evidence says, or nobody’s', async t => {
  for (const [about, running, onlyClient, expected, why] of ROWS) {
    const origin = originOf<Person, Work>({ about, running, onlyClient }, 'sampling')
    const shown =
      origin.is === 'call'
        ? `call ${origin.call.name}`
        : origin.is === 'client'
          ? `client ${origin.client.name}`
          : origin.is
    t.equal(shown, expected, why)
  }
})
