import { randomBytes } from 'node:crypto'
import t from 'tap'
import { KeyRing } from '../../src/cluster/key-ring.js'
import { openRecord, rebuiltRecord, sealRecord, sessionFactsOf } from '../../src/cluster/session-records.js'
import { readInitialize } from '../../src/eras/legacy/initialize-params.js'
import { textOf } from '../../src/kernel/json/text.js'
import { LEGACY_REVISIONS } from '../../src/model/revision.js'

const ring = new KeyRing([randomBytes(32).toString('base64')])
const record = {
  principal: 'person ada',
  view: 'web',
  introduction: textOf({ protocolVersion: '2025-11-25', clientInfo: { name: 'ü' } }),
  requests: [{ method: 'logging/setLevel', params: textOf({ level: 'info' }) }],
  servers: [['remote', textOf({ session: 'there' })]] as const,
}

t.test('a record comes back as it was, for its own session alone', async t => {
  const sealed = sealRecord(ring, 'a', record)
  t.same(openRecord(ring, 'a', sealed), record)
  t.equal(openRecord(ring, 'b', sealed), undefined)
  t.same(openRecord(ring, 'a', sealRecord(ring, 'a', { ...record, view: undefined }))?.view, undefined)
})

t.test('a record of an earlier version contains no server sessions', async t => {
  const earlier = ring.seal('record', 'session a', Buffer.from('{"n":1,"p":"person ada","i":"{}","r":[]}'))
  t.same(openRecord(ring, 'a', earlier)?.servers, [])
})

t.test('a record of a later version is left to newer replicas', async t => {
  const later = ring.seal('record', 'session a', Buffer.from('{"n":2,"p":"person ada","i":"{}","r":[]}'))
  t.equal(openRecord(ring, 'a', later), undefined)
})

t.test('an id alone contains the capabilities of its client', async t => {
  const declarations = [
    {},
    { roots: {} },
    { roots: { listChanged: true }, sampling: {} },
    { sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } },
    { elicitation: {} },
    { elicitation: { form: {} } },
  ]
  for (const revision of LEGACY_REVISIONS)
    for (const capabilities of declarations) {
      const said = textOf({
        protocolVersion: revision,
        capabilities,
        clientInfo: { name: 'a', version: '1' },
      })
      const was = readInitialize(said)
      const facts = sessionFactsOf(was.revision, was.capabilities)
      const { introduction } = rebuiltRecord(facts, { principal: 'local', view: undefined })
      const is = readInitialize(introduction)
      t.same([is.revision, is.capabilities], [was.revision, was.capabilities], JSON.stringify(capabilities))
    }
})
