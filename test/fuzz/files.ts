import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { parseConfig } from '../../src/config/parse.js'
import { parseRecord } from '../../src/state/instance.js'
import { decodeServer, encodeServer } from '../../src/state/server-cache-file.js'
import { mutated, values } from '../support/arbitraries.js'
import { holds, soon } from '../support/property.js'

const KEYS = [
  'mcpServers',
  'servers',
  'command',
  'args',
  'env',
  'url',
  'type',
  'headers',
  'timeouts',
  'limits',
  'listen',
  'disabled',
  'sharing',
  'startupWait',
  '__proto__',
]
const words = fc.constantFrom(
  'node',
  'http',
  'sse',
  '10s',
  '${HOME}',
  '${env:X:-y}',
  'https://u:p@h/x',
  '',
  '-1',
  '\0',
)

/** Something like what people and programs write into configuration files. */
const configs: fc.Arbitrary<string> = fc
  .letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      words,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...KEYS, 'a', 'b c', 'github'), tie('value'), { maxKeys: 4 }),
    ),
  }))
  .value.map(value =>
    JSON.stringify({ mcpServers: { one: value, two: { command: 'x', env: value } }, more: value }),
  )

void holds(
  t,
  'whatever stands in a configuration file, it is read or its problems are told',
  fc.property(
    fc.oneof(configs, values, mutated(configs).map(String), fc.string({ unit: 'binary' })),
    fc.constantFrom('mcp.json', 'mcp.jsonc', '.vscode/mcp.json'),
    (text, file) => {
      const env = { HOME: '/home/x' }
      const loaded = soon(() => parseConfig(text, file, env))
      const { config, problems } = loaded
      assert.ok(config !== undefined || problems.length > 0)
      for (const { message } of problems) assert.ok(message.length > 0 && message.length < 5000)
    },
  ),
)

const known = fc
  .tuple(values, values, fc.array(values, { maxLength: 3 }))
  .map(
    ([capabilities, info, items]) =>
      `{"format":3,"known":[{"profiles":["p"],"said":{"revision":"2025-11-25","announced":${capabilities},"capabilities":${capabilities},"info":${info},"lists":{"tools":[${items.join()}]}}}]}`,
  )

void holds(
  t,
  'what is known of servers is read from a file as it was written, or not at all',
  fc.property(known, mutated(known), values, (whole, broken, other) => {
    const read = soon(() => decodeServer(Buffer.from(whole)))
    assert.ok(read !== undefined)
    assert.deepEqual(decodeServer(Buffer.from(encodeServer(read))), read)
    soon(() => decodeServer(broken))
    assert.equal(decodeServer(Buffer.from(other)), undefined)
  }),
)

const records = fc
  .tuple(values, values, values)
  .map(
    ([pid, children, born]) =>
      `{"version":1,"mark":"m","place":"p","startedAt":"x","verb":"serve","pid":${pid},"born":${born},"children":[${children},{"pid":${pid}},{"pid":7}]}`,
  )

void holds(
  t,
  'a record of another proxy is read or is none',
  fc.property(records, fc.integer(), (text, pid) => {
    for (const one of [text, text.replace(/"pid":[^,}]+/, `"pid":${pid}`)]) {
      let record: ReturnType<typeof parseRecord>
      try {
        record = soon(() => parseRecord(one))
      } catch (thrown) {
        assert.ok(thrown instanceof SyntaxError, 'it throws for what is no JSON, and for nothing else')
      }
      assert.ok(record === undefined || (record.pid > 1 && record.children.every(child => child.pid > 1)))
    }
  }),
)
