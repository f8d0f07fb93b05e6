import t from 'tap'
import { type Envelope, readClaim, readEnvelope, withEnvelope } from '../../../src/eras/modern/envelope.js'
import { type JsonText, memberOf, rawText, readJson, valueOf } from '../../../src/kernel/json/text.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../../src/model/peer.js'
import { sdkOnPipe } from '../../support/client/sdk-client.js'

const json = (text: string): JsonText => readJson(Buffer.from(text))

const P = 'io.modelcontextprotocol/'
const VERSION = `"${P}protocolVersion":"2026-07-28"`
const CAPABILITIES = `"${P}clientCapabilities":{}`
const meta = (...members: string[]): JsonText => json(`{${members.join(',')}}`)

const fine = (text: JsonText): Envelope => {
  const check = readEnvelope(text)
  if (check.is !== 'fine') throw new Error(`expected an envelope, got ${check.is}`)
  return check.envelope
}

t.test('an envelope says who sends the request and what it can be asked', async t => {
  const info = '{ "name":"c","version":"1.0","title":"C","icons":[{"src":"https://e/i"}],"x":1e400 }'
  const envelope = fine(
    meta(
      `"progressToken":1`,
      VERSION,
      `"${P}clientInfo":${info}`,
      `"${P}clientCapabilities":{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{},"extensions":{"a.b/c":{}}}`,
      `"${P}logLevel":"warning"`,
    ),
  )
  const { declared, ...capabilities } = envelope.capabilities
  t.same(capabilities, {
    roots: { listChanged: false },
    sampling: { tools: true, context: false },
    elicitation: { form: true, url: false, isBare: true },
  })
  t.same([...(declared?.extensions ?? [])].map(String), ['a.b/c,{}'])
  t.equal(envelope.info?.toString(), info)
  t.equal(envelope.logLevel, 'warning')
  t.match(envelope.declared.toString(), '"extensions":{"a.b/c":{}}')
})

t.test('a client may keep its name and level to itself, and then it is sent no log', async t => {
  const envelope = fine(meta(VERSION, CAPABILITIES))
  t.same(envelope.capabilities, NO_CAPABILITIES)
  t.equal(envelope.info, undefined)
  t.equal(envelope.logLevel, undefined)
})

t.test('what a client can be asked is read as it was meant', async t => {
  const CASES: [string, Partial<ClientCapabilities>][] = [
    ['{"elicitation":{"url":{}}}', { elicitation: { form: false, url: true } }],
    ['{"elicitation":{"form":{},"url":{}}}', { elicitation: { form: true, url: true } }],
    ['{"elicitation":true}', { elicitation: { form: true, url: false } }],
    ['{"elicitation":false,"roots":null,"sampling":"yes"}', {}],
    ['{"sampling":{"context":{}}}', { sampling: { tools: false, context: true } }],
    ['{"roots":{}}', { roots: { listChanged: false } }],
  ]
  for (const [text, expected] of CASES) {
    const { capabilities } = fine(meta(VERSION, `"${P}clientCapabilities":${text}`))
    t.same(capabilities, { ...NO_CAPABILITIES, ...expected }, text)
  }
})

t.test('missing and malformed members are named', async t => {
  const CASES: [string, JsonText | undefined, string][] = [
    ['no params', undefined, `Missing _meta ${P}protocolVersion, ${P}clientCapabilities`],
    ['no _meta', json('{}'), `Missing _meta ${P}protocolVersion, ${P}clientCapabilities`],
    ['_meta null', json('{"_meta":null}'), `Missing _meta ${P}protocolVersion, ${P}clientCapabilities`],
    ['UP-4', meta(VERSION), `Missing _meta ${P}clientCapabilities`],
    ['UP-7', meta(CAPABILITIES), `Missing _meta ${P}protocolVersion`],
    ['version', meta(`"${P}protocolVersion":1`, CAPABILITIES), `_meta ${P}protocolVersion must be text`],
    [
      'capabilities',
      meta(VERSION, `"${P}clientCapabilities":[]`),
      `_meta ${P}clientCapabilities must be an object`,
    ],
    ['info', meta(VERSION, CAPABILITIES, `"${P}clientInfo":"c"`), `_meta ${P}clientInfo must be an object`],
    [
      'info without version',
      meta(VERSION, CAPABILITIES, `"${P}clientInfo":{"name":"c"}`),
      `_meta ${P}clientInfo must have a name and a version`,
    ],
    [
      'info without a name of text',
      meta(VERSION, CAPABILITIES, `"${P}clientInfo":{"name":1,"version":"1"}`),
      `_meta ${P}clientInfo must have a name and a version`,
    ],
    [
      'title',
      meta(VERSION, CAPABILITIES, `"${P}clientInfo":{"name":"c","version":"1","title":7}`),
      `_meta ${P}clientInfo must have text as its title`,
    ],
    [
      'icons',
      meta(VERSION, CAPABILITIES, `"${P}clientInfo":{"name":"c","version":"1","icons":{}}`),
      `_meta ${P}clientInfo must have a list of icons`,
    ],
    [
      'level',
      meta(VERSION, CAPABILITIES, `"${P}logLevel":"fatal"`),
      `_meta ${P}logLevel must be a log level`,
    ],
    [
      'level of no text',
      meta(VERSION, CAPABILITIES, `"${P}logLevel":1`),
      `_meta ${P}logLevel must be a log level`,
    ],
    [
      'repeated',
      meta(VERSION, CAPABILITIES, CAPABILITIES),
      `The member params._meta.${P}clientCapabilities is repeated`,
    ],
  ]
  for (const [what, params, message] of CASES) {
    const check = readEnvelope(params)
    t.equal(check.is, 'malformed', what)
    if (check.is !== 'malformed') continue
    t.equal(check.fault.code, 'invalid-params', what)
    t.equal(check.fault.message, message, what)
  }
})

t.test('only text under the key of the version is a claim', async t => {
  t.equal(readClaim(meta(VERSION)).claim, '2026-07-28')
  t.equal(readClaim(meta(`"${P}protocolVersion":"1900-01-01"`)).claim, '1900-01-01')
  for (const text of [undefined, '{}', '1', `{"${P}protocolVersion":7}`, '[]']) {
    t.equal(readClaim(text === undefined ? undefined : json(text)).claim, undefined)
  }
})

const ALL: ClientCapabilities = {
  roots: { listChanged: true },
  sampling: { tools: true, context: true },
  elicitation: { form: true, url: true },
}

t.test('a request to a modern server gets our envelope, and the rest of it stays byte for byte', async t => {
  const params = json(
    `{ "name" : "x","arguments":{"n":12345678901234567890,"e":1e400, "_meta":{"${P}k":1}},"_meta":{ "v.x/k":1.0,"${P}clientInfo":{"name":"theirs"},"progressToken":"t" } }`,
  )
  t.equal(
    withEnvelope(params, {
      version: '2026-07-28',
      capabilities: ALL,
      clientInfo: rawText('{"name":"c","version":"1"}'),
      logLevel: 'debug',
    }).toString(),
    `{ "name" : "x","arguments":{"n":12345678901234567890,"e":1e400, "_meta":{"${P}k":1}},"_meta":{ "v.x/k":1.0,"progressToken":"t","${P}protocolVersion":"2026-07-28","${P}clientInfo":{"name":"c","version":"1"},"${P}clientCapabilities":{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}},"${P}logLevel":"debug" } }`,
  )
})

t.test('an envelope is added where it is missing, and never declares unknown capabilities', async t => {
  const facts = { version: '2026-07-28', capabilities: NO_CAPABILITIES }
  const envelope = `{"${P}protocolVersion":"2026-07-28","${P}clientCapabilities":{}}`
  t.equal(withEnvelope(undefined, facts).toString(), `{"_meta":${envelope}}`)
  t.equal(withEnvelope(json('{"_meta":null}'), facts).toString(), `{"_meta":${envelope}}`)
  t.equal(withEnvelope(json('{"_meta":{}}'), facts).toString(), `{"_meta":${envelope}}`)
  const form = { ...NO_CAPABILITIES, elicitation: { form: true, url: false } }
  t.same(valueOf(withEnvelope(json('{"name":"x","arguments":{}}'), { ...facts, capabilities: form })), {
    name: 'x',
    arguments: {},
    _meta: {
      [`${P}protocolVersion`]: '2026-07-28',
      [`${P}clientCapabilities`]: { elicitation: { form: {} } },
    },
  })
})

t.test('what we wrote is what the other side reads', async t => {
  const info = rawText('{"name":"c","version":"1"}')
  const written = withEnvelope(undefined, {
    version: '2026-07-28',
    capabilities: ALL,
    clientInfo: info,
    logLevel: 'info',
  })
  const { capabilities, info: read, logLevel } = fine(memberOf(written, '_meta') ?? written)
  t.same(capabilities, { ...ALL, roots: { listChanged: false } })
  t.equal(read?.toString(), info.toString())
  t.equal(logLevel, 'info')
})

t.test('the official client’s envelope is understood', async t => {
  const { client, sent } = await sdkOnPipe(
    () =>
      '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","tools":[]}',
  )
  await client.listTools()
  await client.close()
  t.same(
    sent.map(({ method }) => method),
    ['server/discover', 'tools/list'],
  )
  for (const { params } of sent) {
    const envelope = params && fine(memberOf(params, '_meta') ?? params)
    t.same(envelope?.capabilities, {
      roots: { listChanged: false },
      sampling: { tools: false, context: false },
      elicitation: { form: true, url: true },
    })
    t.same(envelope?.info && valueOf(envelope.info), { name: 'sdk', version: '2' })
  }
})
