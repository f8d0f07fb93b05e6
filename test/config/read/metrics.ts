import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import { secretsOf } from '../../../src/config/read/secrets.js'

const read = (metrics: unknown, env = {}) => {
  const text = JSON.stringify({ mcpServers: { a: { command: 'a' } }, metrics })
  const { config, problems } = parseConfig(text, '/f.json', env)
  if (config === undefined) throw new Error('unusable')
  return { config, found: config.metrics, problems: problems.map(({ key, message }) => `${key}: ${message}`) }
}

t.test('what may be said about metrics is a table', async t => {
  const rows: readonly (readonly [
    given: unknown,
    listen: object | undefined,
    problems: readonly string[],
  ])[] = [
    [{ listen: '127.0.0.1:9464' }, { host: '127.0.0.1', port: 9464 }, []],
    [{ listen: '[::1]:9464' }, { host: '::1', port: 9464 }, []],
    [{ listen: '9464' }, undefined, ['metrics.listen: this is not an address with a port']],
    [{ listen: '127.0.0.1:99999' }, undefined, ['metrics.listen: this is not an address with a port']],
    [
      { listen: '0.0.0.0:9464' },
      { host: '0.0.0.0', port: 9464 },
      ['metrics.listen: other machines can reach this address without a token'],
    ],
    [{ listen: '0.0.0.0:9464', token: 'a-token' }, { host: '0.0.0.0', port: 9464 }, []],
    [{}, undefined, []],
  ]
  for (const [given, listen, expected] of rows) {
    const { found, problems } = read(given)
    t.same(found?.listen, listen, JSON.stringify(given))
    t.same(problems, expected, JSON.stringify(given))
  }
})

t.test('false disables metrics, and other non-objects are reported', async t => {
  t.same([read(false).found, read(false).problems], [undefined, []])
  const { found, problems } = read(true)
  t.match(found, { series: 2000, tools: 'counters' })
  t.equal(problems.length, 1)
})

t.test('a token comes out of its variable, and is a secret', async t => {
  const { config, found } = read({ token: '${T}' }, { T: 'quite-a-secret-token' })
  t.equal(found?.token, 'quite-a-secret-token')
  t.ok(secretsOf(config).includes('quite-a-secret-token'))
  t.match(read({ tools: 'histograms', series: 100 }).found, { tools: 'histograms', series: 100 })
})
