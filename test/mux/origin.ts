import t from 'tap'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../src/model/peer.js'
import { type Ability, hasAbility, originOf } from '../../src/mux/origin.js'

interface Person {
  readonly name: string
  readonly capabilities: ClientCapabilities
}

const able = (name: string, more: Partial<ClientCapabilities> = {}): Person => ({
  name,
  capabilities: { ...NO_CAPABILITIES, sampling: { tools: false, context: false }, ...more },
})
const ann = able('ann')
const bob = able('bob')
const mute: Person = { name: 'mute', capabilities: NO_CAPABILITIES }

const call = (client: Person, name = `${client.name}'s`) => ({ name, call: { client } })
type Work = ReturnType<typeof call>

const annFirst = call(ann, 'first')
const annSecond = call(ann, 'second')
const bobs = call(bob)
const mutes = call(mute)

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

t.test('a client can be asked what it declared, to the mode', async t => {
  const rows: readonly (readonly [Ability, Partial<ClientCapabilities>, boolean])[] = [
    ['roots', { roots: { listChanged: false } }, true],
    ['roots', {}, false],
    ['sampling', { sampling: { tools: false, context: false } }, true],
    ['sampling', {}, false],
    ['sampling.tools', { sampling: { tools: false, context: false } }, false],
    ['sampling.tools', { sampling: { tools: true, context: false } }, true],
    ['elicitation.form', { elicitation: { form: true, url: false } }, true],
    ['elicitation.url', { elicitation: { form: true, url: false } }, false],
    ['elicitation.form', { elicitation: { form: false, url: true } }, false],
    ['elicitation.url', { elicitation: { form: false, url: true } }, true],
    ['elicitation.url', {}, false],
  ]
  for (const [ability, more, expected] of rows) {
    t.equal(
      hasAbility({ ...NO_CAPABILITIES, ...more }, ability),
      expected,
      `${ability} of ${JSON.stringify(more)}`,
    )
  }
})
