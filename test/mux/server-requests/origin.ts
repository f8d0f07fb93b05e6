import t from 'tap'
import type { ServerRequestMode } from '../../../src/model/links.js'
import { type Evidence, originOf } from '../../../src/mux/server-requests/origin.js'

interface Person {
  readonly name: string
  readonly serverRequests: ServerRequestMode
}

const ann: Person = { name: 'ann', serverRequests: 'pushed' }
const eve: Person = { name: 'eve', serverRequests: 'returned' }

type Given = Partial<Evidence<Person, string>>

/** evidence → whose it is, and why */
const ROWS: readonly (readonly [given: Given, expected: string, why: string])[] = [
  [{ about: 'first', latest: 'second' }, 'certain first', 'a known call wins over the latest'],
  [{ about: 'first', latest: 'second', isOnes: false }, 'certain first', 'whoever else is there'],
  [{ latest: 'second' }, 'likely second', 'of the calls of one party, the latest'],
  [{ latest: 'second', isOnes: false }, 'ambiguous', 'of two parties: never guess'],
  [{ latest: 'second', onlyClient: ann }, 'likely second', 'the only client has calls'],
  [{ onlyClient: ann }, 'client ann', 'nothing is in flight, but the only client is the only client'],
  [{ onlyClient: eve }, 'none', 'a client that is asked in answers is asked nothing outside a call'],
  [{}, 'none', 'there is no client'],
  [{ isOnes: false }, 'none', 'cancelled calls alone get no questions'],
  [{ about: 'another', latest: 'first' }, 'none', 'a call that is over is not another that is not'],
  [{ about: 'another', latest: 'first', onlyClient: ann }, 'client ann', 'but the only client is'],
]

t.test('a message of a server is whose the evidence says, or no client’s', async t => {
  for (const [given, expected, why] of ROWS) {
    const nothing = { about: undefined, latest: undefined, isOnes: true, onlyClient: undefined }
    const origin = originOf<Person, string>({ ...nothing, ...given })
    const shown =
      origin.is === 'call'
        ? `${origin.isCertain ? 'certain' : 'likely'} ${origin.call}`
        : origin.is === 'client'
          ? `client ${origin.client.name}`
          : origin.is
    t.equal(shown, expected, why)
  }
})
