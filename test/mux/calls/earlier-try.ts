import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { textOf } from '../../../src/kernel/json/text.js'
import type { Downlink } from '../../../src/model/links.js'
import { errorOver } from '../../../src/mux/calls/earlier-try.js'

const link = (serverRequests: Downlink['serverRequests'], info: object) =>
  ({ serverRequests, facts: { info: textOf(info) } }) as unknown as Downlink

t.test(
  'a request that may have run is only sent to another program, by its identity in each revision',
  async t => {
    const refused = new Fault('maybe-replaced', 'whether it ran is not known')
    const rows: readonly (readonly [before: object, after: object, mayBeSent: boolean])[] = [
      [{ name: 'a', version: '2' }, { name: 'a', version: '1' }, true],
      [{ name: 'a', version: '1' }, { name: 'b', version: '1' }, true],
      [{ name: 'a', version: '1' }, { name: 'a', version: '1' }, false],
      [{ name: 'a', version: '1' }, { version: '1', name: 'a' }, false],
      [{ name: 'a', version: '1', title: 'A' }, { name: 'a', version: '1' }, false],
      [{}, { name: 'a', version: '1' }, false],
      [{ name: 'a', version: '1' }, {}, false],
    ]
    for (const [before, after, mayBeSent] of rows) {
      const earlier = { fault: refused, link: link('returned', before), hasAnswers: false }
      const refusal = errorOver(link('pushed', after), earlier)
      t.equal(refusal, mayBeSent ? undefined : refused, JSON.stringify([before, after]))
    }
  },
)
