import t from 'tap'
import { withoutReservedMeta } from '../../../../src/eras/modern/project/meta.js'
import { type JsonText, readJson } from '../../../../src/kernel/json/text.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const P = 'io.modelcontextprotocol/'
const VERSION = `"${P}protocolVersion":"2026-07-28"`
const CAPABILITIES = `"${P}clientCapabilities":{}`

t.test('reserved keys never cross a hop; all others do', async t => {
  const CASES: [string, string, string][] = [
    [
      'CT-27',
      `{"name":"x","_meta":{${VERSION},${CAPABILITIES},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","v.x/k":1}}`,
      `{"name":"x","_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01","v.x/k":1}}`,
    ],
    ['ER-3', `{"uri":"file:///no","_meta":{${VERSION},${CAPABILITIES}}}`, '{"uri":"file:///no"}'],
    [
      'token',
      `{"_meta":{"progressToken":12345678901234567890,${VERSION}}}`,
      '{"_meta":{"progressToken":12345678901234567890}}',
    ],
    ['related-task', `{"_meta":{"${P}related-task":{"taskId":"t"}},"n":1.0}`, '{"n":1.0}'],
    ['escaped', String.raw`{"_meta":{"io.\u006dodelcontextprotocol\/x":1,"k":2}}`, '{"_meta":{"k":2}}'],
    ['spaces', `{ "_meta" : { "k" : 1 , ${VERSION} } , "n" : 1 }`, '{ "_meta" : { "k" : 1  } , "n" : 1 }'],
  ]
  for (const [what, before, after] of CASES) {
    t.equal(withoutReservedMeta(json(before)).toString(), after, what)
  }
  for (const same of [
    '{"_meta":{}}',
    '{"_meta":{},"arguments":{"q":"modelcontextprotocol"}}',
    '{"_meta":null}',
    `{"arguments":{"_meta":{${VERSION}}}}`,
    '{"_meta":{"io.modelcontextprotocolx/a":1}}',
  ]) {
    const params = json(same)
    t.equal(withoutReservedMeta(params), params, same)
  }
})
