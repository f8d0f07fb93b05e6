import fc from 'fast-check'
import { values } from './json-documents.js'

/** Ids as they may be, and as they may not. */
const ids = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('1', '"a"', '0', '-1', '12345678901234567890', '"\\u0061"', '1.0'),
  },
  { weight: 1, arbitrary: fc.constantFrom('null', '1.5', '1e400', '{}', '[]', 'true', '""', '"__proto__"') },
)

const METHODS = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'prompts/get',
  'resources/read',
  'resources/subscribe',
  'completion/complete',
  'logging/setLevel',
  'server/discover',
  'subscriptions/listen',
  'notifications/initialized',
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/tools/list_changed',
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
  '__proto__',
  'constructor',
  '',
  'tools/call\u0000',
]

const methods = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...METHODS).map(method => JSON.stringify(method)) },
  { weight: 1, arbitrary: values },
)

const VERSION = '"io.modelcontextprotocol/protocolVersion"'
const CAPABILITIES = '"io.modelcontextprotocol/clientCapabilities"'
const metas = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        `${VERSION}:"2026-07-28"`,
        `${VERSION}:"2026-07-28"`,
        `${CAPABILITIES}:{}`,
        `${CAPABILITIES}:{}`,
      ),
      fc.constantFrom(`${VERSION}:"1999-01-01"`, `${VERSION}:5`, `${CAPABILITIES}:[]`, '"progressToken":1'),
      fc.constantFrom(
        '"progressToken":"x"',
        '"progressToken":{}',
        '"io.modelcontextprotocol/logLevel":"debug"',
      ),
      values.map(value => `"x":${value}`),
    ),
    { maxLength: 4 },
  )
  .map(all => `{${all.join(',')}}`)

const params = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .array(
        fc.oneof(
          fc.constantFrom(
            '"name":"a__x"',
            '"name":"__proto__"',
            '"name":5',
            '"uri":"a+file:///x"',
            '"uri":""',
          ),
          fc.constantFrom(
            '"cursor":"x"',
            '"cursor":5',
            '"level":"debug"',
            '"requestId":1',
            '"progressToken":1',
          ),
          fc.constantFrom('"progress":1', '"ref":{"type":"ref/prompt","name":"a__p"}', '"argument":{}'),
          fc.constantFrom('"protocolVersion":"2025-11-25"', '"capabilities":{}', '"requestState":"v1.x.y"'),
          fc.constantFrom('"clientInfo":{"name":"c","version":"1"}', '"protocolVersion":"2024-11-05"'),
          metas.map(meta => `"_meta":${meta}`),
          values.map(value => `"arguments":${value}`),
          values.map(value => `"x":${value}`),
        ),
        { maxLength: 5 },
      )
      .map(all => `{${all.join(',')}}`),
  },
  { weight: 1, arbitrary: values },
)

const members = fc.oneof(
  { weight: 4, arbitrary: fc.constant('"jsonrpc":"2.0"') },
  { weight: 3, arbitrary: ids.map(id => `"id":${id}`) },
  { weight: 4, arbitrary: methods.map(method => `"method":${method}`) },
  { weight: 4, arbitrary: params.map(text => `"params":${text}`) },
  { weight: 1, arbitrary: values.map(value => `"result":${value}`) },
  { weight: 1, arbitrary: fc.constant('"error":{"code":-32000,"message":"no"}') },
  { weight: 1, arbitrary: values.map(value => `"error":${value}`) },
  { weight: 1, arbitrary: fc.constantFrom('"jsonrpc":"1.0"', '"\\u0069d":2', '"__proto__":{}', '"x":1') },
)

const requests = fc
  .tuple(ids, methods, params)
  .map(([id, method, given]) => `{"jsonrpc":"2.0","id":${id},"method":${method},"params":${given}}`)
const notices = fc
  .tuple(methods, params)
  .map(([method, given]) => `{"jsonrpc":"2.0","method":${method},"params":${given}}`)
const answers = fc.tuple(ids, values).map(([id, value]) => `{"jsonrpc":"2.0","id":${id},"result":${value}}`)
const looseObjects = fc.array(members, { maxLength: 6 }).map(all => `{${all.join(',')}}`)
const single = fc.oneof(
  { weight: 4, arbitrary: requests },
  { weight: 2, arbitrary: notices },
  { weight: 2, arbitrary: answers },
  { weight: 2, arbitrary: looseObjects },
)

/** What peers send who mean JSON-RPC, and what they may send instead: mostly well formed, rarely right. */
export const messages: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: single },
  { weight: 1, arbitrary: fc.array(single, { maxLength: 4 }).map(all => `[${all.join(',')}]`) },
  { weight: 1, arbitrary: values },
)
