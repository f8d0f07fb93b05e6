import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import { secretsOf } from '../../../src/config/read/secrets.js'

const read = (tracing: unknown, env = {}, more: object = {}) => {
  const text = JSON.stringify({ mcpServers: { a: { command: 'a' } }, tracing, ...more })
  const { config, problems } = parseConfig(text, 'test.json', env)
  if (config === undefined) throw new Error('no configuration')
  return { config, problems: problems.map(({ key, message }) => `${key}: ${message}`) }
}

const endpoint = 'http://127.0.0.1:4318'

t.test('what may be said about traces is a table', async t => {
  const rows: readonly (readonly [given: unknown, found: unknown, problems: readonly RegExp[]])[] = [
    [undefined, undefined, []],
    ['env', 'env', []],
    ['otlp', undefined, [/^tracing: invalid value of "tracing"/]],
    [
      { endpoint },
      { endpoint, protocol: 'http/protobuf', ratio: 1, perSecond: 100, keep: [], content: false },
      [],
    ],
    [{ endpoint, protocol: 'http/json', ratio: 0.5 }, { protocol: 'http/json', ratio: 0.5 }, []],
    [{ endpoint, keep: ['slow'], baggage: ['tenant'], trustParents: false }, { trustParents: false }, []],
    [{ endpoint, protocol: 'grpc' }, { protocol: 'http/protobuf' }, [/^tracing\.protocol: /]],
    [{ endpoint, ratio: 2 }, { ratio: 1 }, [/^tracing\.ratio: /]],
    [{ endpoint, sampler: 'x' }, { endpoint }, [/^tracing\.sampler: /]],
    [{}, undefined, [/"endpoint" is missing/]],
    [{ endpoint: 'ftp://x' }, undefined, [/^tracing\.endpoint: this is not the address/]],
    [{ endpoint: '${NOWHERE}' }, undefined, [/NOWHERE/]],
    [{ endpoint, headers: { 'a b': 'c' } }, undefined, [/not a header/]],
    [{ endpoint, headers: { a: 'b\nc' } }, undefined, [/not a header/]],
  ]
  for (const [given, found, expected] of rows) {
    const { config, problems } = read(given)
    const why = JSON.stringify(given)
    if (typeof found === 'object') t.match(config.tracing, found, why)
    else t.equal(config.tracing, found, why)
    t.equal(problems.length, expected.length, `${why}: ${problems.join()}`)
    for (const [at, words] of expected.entries()) t.match(problems[at], words, why)
  }
})

t.test('headers for the collector are secrets', async t => {
  const given = { endpoint: 'https://u:pass-word-1@c.example', headers: { 'X-Key': 'Bearer ${KEY}' } }
  const { config } = read(given, { KEY: 'key-of-the-collector' })
  t.match(config.tracing, { headers: { 'x-key': 'Bearer key-of-the-collector' } })
  const secrets = secretsOf(config).join()
  t.match(secrets, 'key-of-the-collector')
  t.match(secrets, 'pass-word-1')
})

t.test('calls are slow after as long as is said', async t => {
  t.equal(read(undefined).config.slowMs, Number.POSITIVE_INFINITY)
  t.equal(read(undefined, {}, { log: { slow: '2s' } }).config.slowMs, 2000)
  t.equal(read(undefined, {}, { log: { slow: 'off' } }).config.slowMs, Number.POSITIVE_INFINITY)
})
