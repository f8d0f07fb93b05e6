import t from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../../src/model/peer.js'
import { canBeAsked } from '../../../src/mux/input-required/client-capabilities.js'

t.test('a client can be asked what it declared, to the mode', async t => {
  const rows: readonly (readonly [string, object, Partial<ClientCapabilities>, boolean])[] = [
    ['roots/list', {}, { roots: { listChanged: false } }, true],
    ['roots/list', {}, {}, false],
    ['sampling/createMessage', {}, { sampling: { tools: false, context: false } }, true],
    ['sampling/createMessage', {}, {}, false],
    ['sampling/createMessage', { tools: [] }, { sampling: { tools: false, context: false } }, false],
    ['sampling/createMessage', { toolChoice: {} }, { sampling: { tools: true, context: false } }, true],
    ['elicitation/create', {}, { elicitation: { form: true, url: false } }, true],
    ['elicitation/create', { mode: 'url' }, { elicitation: { form: true, url: false } }, false],
    ['elicitation/create', { mode: 'form' }, { elicitation: { form: false, url: true } }, false],
    ['elicitation/create', { mode: 'url' }, { elicitation: { form: false, url: true } }, true],
    ['elicitation/create', { mode: 'url' }, {}, false],
    ['tools/list', {}, { roots: { listChanged: false } }, false],
  ]
  for (const [method, params, more, expected] of rows) {
    t.equal(
      canBeAsked({ method, params: textOf(params) }, { ...NO_CAPABILITIES, ...more }),
      expected,
      JSON.stringify([method, params, more]),
    )
  }
})
