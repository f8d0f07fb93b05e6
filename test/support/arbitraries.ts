import fc from 'fast-check'

/** An item of a container as written, with its surrounding white space. */
interface Item {
  readonly before: string
  /** Source text of the key with its quotes; empty in an array. */
  readonly key: string
  readonly colon: string
  readonly value: string
  readonly after: string
}

/** A container as written. */
export interface Container {
  readonly items: readonly Item[]
  /** White space of an empty container. */
  readonly inside: string
}

/** JSON white space, often none. */
export const space = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 }) },
)

const numbers = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '1.0',
    '1E+2',
    '1e-2',
    '-0.0e0',
    '12345678901234567890',
    '1e400',
    '-1e400',
    '0.1e1',
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(value => JSON.stringify(value)),
  fc.integer().map(String),
)

const pieces = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map(text => JSON.stringify(text).slice(1, -1)),
  fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\b\\f\\r\\t', '\\u0041', '\\u00e9', '\\uD83D\\uDE00'),
  fc.constantFrom(
    '\\ud800',
    '\\uDFFF\\uD800',
    'é',
    '道',
    '😀',
    '\u2028',
    '\u007f',
    '\ufeff',
    '[{',
    '}],:',
    ' ',
  ),
  fc.string({ unit: fc.constantFrom('a', 'b', ' '), minLength: 30, maxLength: 60 }),
)

/** Strings in many spellings. */
export const strings = fc.array(pieces, { maxLength: 4 }).map(all => `"${all.join('')}"`)

/** Frequently repeated keys in several spellings. */
export const keys = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '"id"',
      '"\\u0069d"',
      '"i\\u0064"',
      '"a"',
      '""',
      '"é"',
      '"\\u00E9"',
      '"__proto__"',
      '"\\u005f_proto__"',
      '"\\""',
      '"\\\\"',
      '"ids"',
    ),
  },
  { weight: 1, arbitrary: strings },
)

/** The source text of a container. */
export const written = ({ items, inside }: Container, [open, close]: readonly [string, string]): string =>
  open +
  (items.length === 0
    ? inside
    : items.map(({ before, key, colon, value, after }) => before + key + colon + value + after).join(',')) +
  close

const container = (key: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<Container> =>
  fc.record({
    inside: space,
    items: fc.array(
      fc.record({
        before: space,
        key,
        colon: fc.tuple(space, space).map(([left, right]) => `${left}:${right}`),
        value,
        after: space,
      }),
      { maxLength: 5 },
    ),
  })

const withoutColons = ({ items, inside }: Container): Container => ({
  inside,
  items: items.map(item => ({ ...item, key: '', colon: '' })),
})

const tied = fc.letrec<{ value: string; object: Container; array: Container }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(numbers, strings, fc.constantFrom('true', 'false', 'null')),
    tie('object').map(object => written(object, ['{', '}'])),
    tie('array').map(array => written(array, ['[', ']'])),
  ),
  object: container(keys, tie('value')),
  array: container(fc.constant(''), tie('value')).map(withoutColons),
}))

/** Source text of any JSON value, without surrounding white space. */
export const values = tied.value
/** Objects and arrays with the known source text of each item. */
export const objects = tied.object
export const arrays = tied.array

const oddBytes = fc.oneof(
  fc.constantFrom(...Buffer.from('{}[]",:\\/u0-1.eE+ \n\rtfnx')),
  fc.constantFrom(0x00, 0x1f, 0x7f, 0x80, 0xbf, 0xc0, 0xc3, 0xe0, 0xed, 0xa0, 0xef, 0xbb, 0xf0, 0xf4, 0xff),
  fc.nat(255),
)

/** Document bytes with a few bytes replaced, removed, repeated or inserted. */
export const mutated = (document: fc.Arbitrary<string>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      document,
      fc.array(fc.record({ at: fc.nat(400), cut: fc.nat(2), put: fc.array(oddBytes, { maxLength: 2 }) }), {
        maxLength: 2,
      }),
      fc.option(fc.nat(400)),
    )
    .map(([text, edits, length]) => {
      const bytes = [...Buffer.from(text)]
      for (const { at, cut, put } of edits) bytes.splice(at % (bytes.length + 1), cut, ...put)
      return Buffer.from(length === null ? bytes : bytes.slice(0, length))
    })

/** Valid and invalid ids. */
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

/** Messages of JSON-RPC peers and their malformed variants: mostly well formed, rarely correct. */
export const messages: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: single },
  { weight: 1, arbitrary: fc.array(single, { maxLength: 4 }).map(all => `[${all.join(',')}]`) },
  { weight: 1, arbitrary: values },
)
