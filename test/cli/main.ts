import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { growthPercent } from '../../src/cli/main.js'
import { runHere } from '../support/proxy/start.js'

const version = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version

const USAGE: readonly (readonly [words: string, says: RegExp])[] = [
  ['', /name a command: serve, stdio, bridge, check, list, call or status/],
  ['sevre', /Did you mean serve\?/],
  ['nonsense', /Unknown argument: nonsense/],
  ['serve --prot 1', /Unknown argument: prot\. Did you mean --port\?/],
  ['serve --config', /Not enough arguments following: config/],
  ['serve --config a --config b', /--config may be given once/],
  ['bridge --era auto --era auto -- node', /--era may be given once/],
  ['serve --config a --log-level loud', /Choices: "debug", "info"/],
  ['serve --config a extra', /Unknown argument: extra/],
  ['serve -- node server.js', /only bridge takes a command after --/],
  ['call', /call needs the name of a tool/],
  ['bridge', /which server\? Write its command after --/],
  ['bridge --', /which server\?/],
  ['bridge http://localhost:1/mcp -- node', /a URL and a command are two servers/],
  ['bridge ftp://localhost', /a complete address that begins with http:/],
  ['bridge nonsense', /a complete address that begins with http:/],
  ['bridge unix:x.sock', /a complete address that begins with http:/],
  ['bridge --from ws http://localhost:1/mcp', /--from ws needs a complete ws or wss address/],
  ['bridge --from sse ws://localhost:1/mcp', /--from sse needs a complete http or https address/],
  ['bridge --from grpc http://localhost:1', /Choices: "auto", "http", "sse", "ws"/],
  ['bridge --from sse -- node', /--from is for a URL/],
  ['bridge --header a:b unix:/run/x.sock', /a socket has no headers/],
  ['bridge --to unix -- node', /--to unix needs --socket PATH/],
  ['bridge --to unix --socket x --port 1 -- node', /need --to http, sse or ws: a socket has no port/],
  ['bridge --to stdio --socket x -- node', /--socket is for --to unix, http, sse or ws/],
  ['bridge --socket unix:x -- node', /--socket must be a path, unix:\/\/\/PATH or pipe:\/\/\/NAME/],
  ['bridge --socket a --socket b -- node', /--socket may be given once/],
  ['bridge --to stdio --port 1 -- node', /need --to http/],
  ['bridge --header a:b -- node', /--header is for a URL/],
  ['bridge --env A=1 http://localhost:1/mcp', /--env is for a command/],
  ['bridge --env A -- node', /--env needs KEY=VALUE/],
  ['bridge --header nonsense http://localhost:1/mcp', /--header needs "Name: value"/],
  ['bridge --port 65536 -- node', /--port must be a number from 0 to 65535, not "65536"/],
  ['bridge --port 80x -- node', /--port must be a number/],
  ['bridge --host 0.0.0.0 -- node', /no authentication yet.*--allow-remote.*listen\.allowedHosts/],
]

t.test('a wrong command line is told in a line, with a way to help, and ends with 2', async t => {
  for (const [words, says] of USAGE) {
    const { code, out, err } = await runHere(t, ...words.split(' ').filter(word => word !== ''))
    t.equal(code, 2, words)
    t.equal(out, '', 'nothing on stdout')
    t.match(err, says, words)
    t.match(err, /\nTry: mcp-proxy (serve |call |bridge )?--help\n$/)
    t.ok(err.split('\n').length <= 5, 'it is short')
  }
})

t.test('help and version go to stdout, and help explains the exit codes', async t => {
  const help = await runHere(t, '--help')
  t.match(help, { code: 0, err: '' })
  for (const verb of ['serve', 'stdio', 'bridge', 'check', 'list', 'call'])
    t.match(help.out, `mcp-proxy ${verb}`)
  t.match(help.out, 'Exit codes:')
  for (const line of [/\b1 +the tool answered/, /\b2 +the command line/, /\b3 +the conf/, /\b4 +no server/]) {
    t.match(help.out, line)
  }
  t.same(await runHere(t, '--version'), { code: 0, out: `${version}\n`, err: '' })
})

t.test('every verb has help with an example', async t => {
  for (const verb of ['serve', 'stdio', 'bridge', 'check', 'list', 'call']) {
    const { code, out } = await runHere(t, verb, '--help')
    t.equal(code, 0)
    t.match(out, new RegExp(`Examples:\\n  mcp-proxy ${verb} `))
    t.notMatch(out, /npx mcp-proxy/)
  }
})

t.test('help after -- belongs to the command', async t => {
  t.match(
    (await runHere(t, 'bridge', '--to', 'stdio', '--port', '1', '--', 'node', '--help')).err,
    /need --to http/,
  )
})

t.test('without a configuration it is said how to name one', async t => {
  const before = process.env.MCP_PROXY_CONFIG
  t.teardown(() => {
    if (before === undefined) delete process.env.MCP_PROXY_CONFIG
    else process.env.MCP_PROXY_CONFIG = before
  })
  process.env.MCP_PROXY_CONFIG = ''
  t.match(await runHere(t, 'list'), { code: 2, err: /--config FILE, or set MCP_PROXY_CONFIG/ })
  process.env.MCP_PROXY_CONFIG = '/nowhere/mcp.json'
  t.match(await runHere(t, 'list'), { code: 3, err: /^\/nowhere\/mcp\.json: error: there is no such file/ })
  t.match((await runHere(t, 'list', '--config', '/elsewhere')).err, /^\/elsewhere: error/, 'the flag wins')
})

t.test('each program in bin finds what the build makes', async t => {
  const folder = new URL('../../bin/', import.meta.url)
  const named = readdirSync(folder).flatMap(name =>
    [...readFileSync(new URL(name, folder), 'utf8').matchAll(/'(\.\.\/dist\/\w[^']*\.js)'/g)].map(
      ([, path = '']) => [name, path] as const,
    ),
  )
  t.same(named.map(([name]) => name).sort(), ['mcp-proxy.js', 'start-example.js'])
  for (const [name, path] of named) t.ok(existsSync(new URL(path, folder)), `${name}: ${path}`)
})

const MIB = 1024 * 1024

t.test('the room between two collections is the same for every small heap, and a large one may double', t => {
  const roomOf = (usedBytes: number) => (usedBytes * growthPercent(usedBytes)) / 100
  for (const mib of [4, 8, 20, 50]) t.ok(Math.abs(roomOf(mib * MIB) - 64 * MIB) < MIB, `${mib} MiB`)
  t.equal(roomOf(300 * MIB), 300 * MIB)
  t.end()
})
