import t from 'tap'
import type { ServerRequestMode } from '../../../src/model/links.js'
import { type Evidence, originOf } from '../../../src/mux/server-requests/origin.js'

interface Person {
  readonly name: string
  readonly serverRequests: ServerRequestMode
}

const ann: Person = { name: 'ann', serverRequests: 'pushed' }
/** A client whose questions are returned: perhaps several people. */
const eve: Person = { name: 'eve', serverRequests: 'returned' }

const call = (name: string, party: number, isWaiting = false) => ({ name, party, isWaiting })
type Work = ReturnType<typeof call>

const annFirst = call('first', 1)
const annSecond = call('second', 1)
const bobs = call("bob's", 2)
const [asked, askedToo] = [call('asked', 3, true), call('asked too', 4, true)]

type Given = Partial<Evidence<Person, Work>>

/** evidence → whose it is, and why */
const ROWS: readonly (readonly [given: Given, expected: string, why: string])[] = [
  [{ about: annFirst, running: [annFirst, bobs] }, 'call first', 'the stream that it came on is enough'],
  [{ about: annFirst, running: [annFirst, annSecond] }, 'call first', 'the stream wins over the latest call'],
  [{ running: [annFirst] }, 'call first', 'the only call under way'],
  [{ running: [annFirst, annSecond] }, 'call second', 'of several calls of one party, the latest'],
  [{ running: [annFirst, bobs] }, 'ambiguous', 'calls of two: never guess'],
  [{ running: [annFirst, bobs, annSecond] }, 'ambiguous', 'the order of calls does not matter'],
  [{ running: [annFirst, bobs], onlyClient: eve }, 'ambiguous', 'two people may say the same of themselves'],
  [{ running: [asked, bobs, askedToo] }, "call bob's", 'servers that wait for answers ask nothing else'],
  [{ running: [asked, bobs, annFirst] }, 'ambiguous', 'but those that do not are two'],
  [{ running: [asked] }, 'call asked', 'unless there is no other: it may ask two things'],
  [{ running: [asked, askedToo] }, 'ambiguous', 'either may'],
  [{ onlyClient: ann }, 'client ann', 'nothing under way, but the only client is the only client'],
  [{ onlyClient: eve }, 'none', 'nobody is asked outside a call who is asked in answers'],
  [{}, 'none', 'there is nobody'],
  [{ about: 'another', running: [annFirst] }, 'none', 'a call that is over is not another that is not'],
  [{ about: 'another', running: [annFirst], onlyClient: ann }, 'client ann', 'but the only client is'],
]

t.test('what a server says is whose the evidence says, or nobody’s', async t => {
  for (const [given, expected, why] of ROWS) {
    const nothing = { about: undefined, running: [], onlyClient: undefined }
    const origin = originOf<Person, Work>({ ...nothing, ...given })
    const shown =
      origin.is === 'call'
        ? `call ${origin.call.name}`
        : origin.is === 'client'
          ? `client ${origin.client.name}`
          : origin.is
    t.equal(shown, expected, why)
  }
})
