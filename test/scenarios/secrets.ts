import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { runHere, startDaemon } from '../support/proxy/start.js'

// Servers that say everything that they were told, on every way on which words of theirs leave the proxy.

const hex = (seed: number): string => Buffer.alloc(8, seed).toString('hex')

/** What operators keep secret, under names that say so, and under names that do not. */
const PLANTED: Readonly<Record<string, string>> = {
  OPENAI_KEY: 'sk-proj-abcd1234efgh5678ijkl',
  DB_PASS: 'hunter2',
  GH_PAT: 'wordlike',
  DATABASE_URL: 'postgres://app:s3cr3tpw@db:5432/x?sslkey=qqqq1111',
  REDIS: 'redis://:redispw99@cache:6379/0',
  MONGO: 'mongodb+srv://u:m%40ngo%21pw@cluster/x',
  DSN: 'https://0123456789abcdef0123456789abcdef@sentry.io/12',
  PHRASE: 'correct horse battery staple',
  QUOTED: 'say "open sesame" twice',
  SLASHED: 'back\\slash+plus/and=equals',
  WIDE: 'пароль-с-буквами',
  HEX: hex(171),
  BASE64: 'q83vEjRWeJCrze8SNFZ4kA==',
  UUIDISH: '550e8400-e29b-41d4-a716-446655440000',
  CONNECTION: 'Server=tcp:db,1433;Password=Pa55w0rd!x;Encrypt=yes',
  LOGIN: 'admin:letmein!1',
  CERT: `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEF'.repeat(2)}\n${'AASCBKcwggSjAgEAAoIBAQC7VJTU'.repeat(2)}\n-----END PRIVATE KEY-----`,
  LINES: 'first line of it\nsecond-line-0f-it',
  ACCOUNT: JSON.stringify({ type: 'service', private_id: 'f00dfeedf00dfeed', mail: 'x@y.example' }),
  LONG: 'Long0ng3r'.repeat(300),
}

/** No part of it may be read: each line, and each half of the longer ones. */
const traces = [
  ...Object.values(PLANTED).flatMap(value => value.split('\n')),
  ...[
    's3cr3tpw',
    'qqqq1111',
    'redispw99',
    'm%40ngo',
    'm@ngo!pw',
    'Pa55w0rd',
    'open sesame',
    'f00dfeed',
    'letmein',
    'Long0ng3rLong',
  ],
  ...[
    'tok-argument-1',
    'keyarg22',
    'header-arg-3',
    'outer secret',
    'p@ss',
    'p%40ss',
    'queryval9',
    'Zm9vOmJhcg',
    'x-header-44',
  ],
].filter(trace => !/-----|^\{/.test(trace))

const script = `
  const env = Object.entries(process.env).filter(([name]) => ${JSON.stringify(Object.keys(PLANTED))}.includes(name))
  const say = text => process.stderr.write(text)
  const pause = () => new Promise(resolve => setTimeout(resolve, 5))
  for (const arg of process.argv) say('bad argument ' + arg + '\\n')
  for (const [name, value] of env) {
    say('raw ' + value + '\\n')
    say('json ' + JSON.stringify({ value }) + '\\n')
    say('encoded ' + encodeURIComponent(value) + '\\n')
    say('halves ' + value.slice(0, value.length / 2))
    await pause()
    say(value.slice(value.length / 2) + '\\n')
    say('x'.repeat(8150) + value + '\\n')
  }
  for (const value of process.env.LAST.split('|')) say(value + '\\n')
  process.exit(3)`

/** Refuses to initialize in words that say all that it was told. */
const startTelltale = async (t: Parameters<typeof startDaemon>[0]) => {
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += String(chunk)
    })
    request.on('end', () => {
      const { id } = body === '' ? { id: null } : JSON.parse(body)
      const told = [request.url, ...Object.values(request.headers)].join(' \u001b[2J\u0007\n')
      const error = { code: -32000, message: `${told} ${'x'.repeat(2_000_000)}` }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

t.test('no secret of a configuration reaches a client, a log or a status, for any server output', async t => {
  process.env['OUTER_SECRET'] = 'outer secret'
  const port = await startTelltale(t)
  const last = ['DB_PASS', 'GH_PAT', 'PHRASE', 'HEX', 'LOGIN'].map(name => PLANTED[name]).join('|')
  const args = [
    '--token',
    'tok-argument-1',
    '--api-key=keyarg22',
    '--header',
    'X-Any: header-arg-3',
    '--',
    '${OUTER_SECRET}',
  ]
  const proxy = await startDaemon(
    t,
    {
      dying: {
        command: process.execPath,
        args: ['--input-type=module', '-e', script, '--', ...args],
        env: { ...PLANTED, LAST: last },
        restart: { first: '100ms', failures: 2 },
      },
      telling: {
        url: `http://127.0.0.1:${port}/mcp?key=queryval9`,
        headers: { Authorization: 'Basic Zm9vOmJhcg==', 'X-Other': 'x-header-44' },
      },
      named: { url: `http://ann:p%40ss@127.0.0.1:${port}/mcp` },
    },
    { limits: { logLines: 1000 } },
  )
  const client = new RawClient(proxy.url)
  await client.initialize()
  const answers = [await client.call(1, 'dying__x'), await client.call(2, 'telling__x')]
  await until(async () => /"telling".*"lastError"/.test(JSON.stringify(await proxy.status())), 'both losses')
  const shown = await runHere(t, 'status', '--url', proxy.url)
  const seen = {
    client: JSON.stringify(answers.map(({ last }) => last.message)),
    status: JSON.stringify(await proxy.status()),
    'mcp-proxy status': shown.out,
    log: proxy.err,
  }
  t.match(seen.client, /exited with code 3.*; it last wrote to stderr:.*\*\*\*/)
  t.match(seen.client, /refused to initialize/)
  t.match(seen.log, /bad argument \*\*\*/)
  for (const [where, text] of Object.entries(seen)) {
    t.same(
      traces.filter(trace => text.includes(trace)),
      [],
      where,
    )
    for (const control of ['\\u001b', '\\u0007', '\u001b[2J']) t.notOk(text.includes(control), where)
  }
  t.ok(seen.client.length < 20_000 && seen.status.length < 40_000, 'what a server says is cut')
  delete process.env['OUTER_SECRET']
})
