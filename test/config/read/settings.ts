import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'

const key = (fill: number): string => Buffer.alloc(32, fill).toString('base64')
const ENV = { OLD: key(1), NEW: key(2), SHORT: Buffer.alloc(31).toString('base64') }

const read = (requestState: unknown) =>
  parseConfig(JSON.stringify({ mcpServers: { a: { command: 'x' } }, requestState }), 'f', ENV)
const problems = (requestState: unknown): unknown[] =>
  read(requestState).problems.map(({ severity, key: where, message }) => [severity, where, message])

t.test('keys are read in their order, out of variables too, with or without padding', async t => {
  const written = { keys: ['${NEW}', key(1).replace('=', ''), ` ${key(3)}\n`] }
  t.same(read(written).config?.stateKeys, [key(2), key(1), key(3)])
  t.same(problems(written), [])
  t.same(read(undefined).config?.stateKeys, [])
  t.same(read({}).config?.stateKeys, [])
})

t.test('unknown keys are reported without their values, and the others are used', async t => {
  const written = { keys: ['${SHORT}', '${GONE}', 'hunter2hunter2', '${OLD}', key(1), ''] }
  t.same(read(written).config?.stateKeys, [key(1)])
  t.same(problems(written), [
    ['error', 'requestState.keys.0', 'this is not a key of 32 bytes'],
    ['error', 'requestState.keys.1', 'the variable GONE is not set'],
    ['error', 'requestState.keys.2', 'this is not a key of 32 bytes'],
    ['warning', 'requestState.keys.4', 'this key is repeated'],
    ['error', 'requestState.keys.5', 'this is empty after its variables are expanded'],
  ])
  t.notMatch(JSON.stringify(read(written).problems), /hunter2/)
  t.same(problems({ key: 'x' }), [['warning', 'requestState.key', 'unknown key, ignored']])
  t.same(problems({ keys: [7] }), [['error', 'requestState.keys.0', 'expected a string, found a number']])
})

t.test('listen.path is a path without dots, query and empty segments', t => {
  const read = (path: unknown) =>
    parseConfig(
      JSON.stringify({ mcpServers: { a: { command: 'x' } }, listen: { path } }),
      '/etc/mcp.json',
      {},
    )
  for (const path of ['/tools', '/a/b-c_d.e~f', '/..a'])
    t.match(read(path), { config: { listen: { path } }, problems: [] })
  for (const path of [
    'tools',
    '/',
    '',
    '/a/',
    '//a',
    '/a//b',
    '/..',
    '/a/../b',
    '/.',
    '/a?b',
    '/a#b',
    '/a b',
    '/%2e',
    7,
  ])
    t.match(read(path).problems, [{ severity: 'error', key: 'listen.path', fix: /"\/tools"/ }], String(path))
  t.end()
})

t.test('"off" turns off numbers only, and is an ordinary name elsewhere', t => {
  const text = JSON.stringify({
    listen: { host: 'off' },
    log: { slow: 'off' },
    results: { max: 'off' },
    auth: { publicUrl: 'https://mcp.example', embedded: { registration: 'off' } },
    mcpServers: { a: { command: 'x', prefix: 'off' } },
  })
  const { config } = parseConfig(text, 'f', {})
  t.match(config, {
    listen: { host: 'off' },
    auth: { embedded: { registration: 'off' } },
    servers: [{ prefix: 'off' }],
    resultsMax: Number.POSITIVE_INFINITY,
  })
  t.end()
})
