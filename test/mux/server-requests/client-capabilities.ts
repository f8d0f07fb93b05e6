import t from 'tap'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../../src/model/peer.js'
import { type AskedCapability, hasCapability } from '../../../src/mux/server-requests/client-capabilities.js'

t.test('a client can be asked what it declared, to the mode', async t => {
  const rows: readonly (readonly [AskedCapability, Partial<ClientCapabilities>, boolean])[] = [
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
      hasCapability({ ...NO_CAPABILITIES, ...more }, ability),
      expected,
      `${ability} of ${JSON.stringify(more)}`,
    )
  }
})
