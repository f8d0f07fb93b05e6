import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import t from 'tap'
import { tableText } from '../../../src/cli/shared/output/table.js'
import { configFile, runHere, tiny } from '../../support/proxy/start.js'
import { listenFor } from '../../support/server/plain-http-server.js'

t.test('list shows the tools clients see, and the reason for each missing server', async t => {
  const file = configFile(t, { one: tiny(), two: tiny('--die') })
  const { code, out } = await runHere(t, 'list', '--config', file)
  t.equal(code, 0)
  t.match(
    out,
    /^Servers \(2\)\nNAME +STATE +REVISION +WHY\none +ready +2025-11-25\ntwo +failed +- +D031: exited with code 3\n/,
  )
  t.match(out, /^Tools \(6\)\nNAME +DESCRIPTION\none__echo +Says its arguments as they came\n/m)
  t.match(out, /^Prompts \(1\)\nNAME +DESCRIPTION\none__greet +A greeting\n/m)
  t.match(out, /^Resources \(1\)\nURI +NAME\none\+memo:\/\/one +One\n/m)
  t.notMatch(out, 'Resource templates', 'what there is none of is not mentioned')
  t.notMatch(out, '\u001b', 'a pipe gets no colours')
})

t.test('list and call show the reason that a server gave', async t => {
  const remote = (status: number, body: string, type = 'text/plain'): Promise<string> =>
    listenFor(
      t,
      createServer((request, response) => {
        request.resume()
        response.writeHead(status, { 'content-type': type }).end(body)
      }),
    )
  const node = "throw new Error('WEATHER_API_KEY environment variable is required')"
  const file = configFile(t, {
    node: { command: process.execPath, args: ['-e', node] },
    shell: { command: 'sh', args: ['-c', 'echo "Error: PORT is required" >&2; echo bye >&2; exit 1'] },
    full: { url: await remote(403, 'all seats are taken') },
    down: { url: await remote(503, 'back at noon') },
    odd: { type: 'sse', url: await remote(422, 'no region') },
    page: { url: await remote(200, 'Sign in', 'text/html') },
    json: { url: await remote(200, '{"ok":true}', 'application/json') },
  })
  const key = await remote(401, '{"error":"API key expired"}', 'application/json')
  const servers = JSON.parse(readFileSync(file, 'utf8'))
  servers.mcpServers.key = { url: key, headers: { Authorization: 'Bearer abc' } }
  writeFileSync(file, JSON.stringify(servers))
  const { out } = await runHere(t, 'list', '--config', file)
  const reasons = {
    key: /refused the token in the configuration: check "headers.Authorization" \(.*: API key expired\)/,
    node: /WEATHER_API_KEY environment variable is required/,
    shell: /Error: PORT is required/,
    full: /HTTP status 403\): all seats are taken/,
    down: /HTTP status 503: back at noon/,
    odd: /HTTP status 422: no region/,
    page: /D035: .*neither JSON nor an event stream/,
    json: /D035: .*JSON that is not an MCP message/,
  }
  for (const [name, reason] of Object.entries(reasons)) {
    t.match(out, new RegExp(`^${name} .*${reason.source}$`, 'm'))
    const { err } = await runHere(t, 'call', `${name}__x`, '--config', file)
    t.match(err, new RegExp(reason.source.replace('D035: .*', '')))
  }
})

t.test('list --json is one document that holds items as they came', async t => {
  const file = configFile(t, { one: tiny(), two: tiny('--die') })
  const { code, out } = await runHere(t, 'list', '--config', file, '--json')
  t.equal(code, 0)
  t.equal(out.split('\n').length, 2)
  t.match(out, '"size":12345678901234567890')
  t.match(JSON.parse(out), {
    servers: [
      { name: 'one', alias: 'one', state: 'ready', revision: '2025-11-25' },
      { name: 'two', state: 'failed', why: 'exited with code 3' },
    ],
    tools: [{ name: 'one__echo', inputSchema: { properties: { n: { type: 'integer' } } } }],
    prompts: [{ name: 'one__greet' }],
    resources: [{ uri: 'one+memo://one' }],
    templates: [],
  })
})

t.test('list --tokens shows what the tools of each server cost a model', async t => {
  const file = configFile(t, { one: tiny(), two: tiny('--die') })
  const { out } = await runHere(t, 'list', '--config', file, '--tokens')
  t.match(out, /^SERVER +TOOLS +TOKENS\none +6 +~\d+\ntwo +0 +~0\nall +6 +~\d+\n/)
  const json = JSON.parse((await runHere(t, 'list', '--config', file, '--tokens', '--json')).out) as {
    tokens: number
  }
  t.match(json, {
    version: 1,
    tools: 6,
    servers: [{ name: 'one', tools: 6, tokens: json.tokens }, { tokens: 0 }],
  })
})

t.test('list ends with 4 when no server could be reached, and 3 when errors cost all of them', async t => {
  const dead = await runHere(t, 'list', '--config', configFile(t, { two: tiny('--die') }))
  t.match(dead, { code: 4, out: /exited with code 3/ })
  const bad = await runHere(t, 'list', '--config', configFile(t, { a: { command: 5 } }))
  t.match(bad, { code: 3, err: /does not define a valid server\n {2}why: a \(invalid\)/ })
})

t.test('list of a configuration without servers is empty, and suggests how to add one', async t => {
  for (const servers of [{}, { a: { command: 'x', disabled: true } }]) {
    const { code, out } = await runHere(t, 'list', '--config', configFile(t, servers))
    t.match({ code, out }, { code: 0, out: /^Servers \(0\)\n.*fix: mcp-proxy add NAME -- COMMAND/ })
  }
  const { out } = await runHere(t, 'list', '--json', '--config', configFile(t, {}))
  t.match(JSON.parse(out), { servers: [], tools: [] })
})

t.test('bad servers are told and do not keep the good ones from working', async t => {
  const file = configFile(t, { bad: { url: 'nonsense' }, one: tiny() })
  t.match(await runHere(t, 'list', '--config', file), {
    code: 0,
    err: /error: mcpServers\.bad\.url/,
    out: /^one +ready/m,
  })
})

t.test('a table fits its terminal and cannot be steered by what it shows', async t => {
  const rows = [
    ['a', 'x'.repeat(50)],
    ['bb', '\u001b[2Jtwo\nlines\u202e'],
  ]
  const narrow = tableText(['NAME', 'TEXT'], rows, { width: 30, hasColor: false })
  t.same(narrow.split('\n'), ['NAME  TEXT', `a     ${'x'.repeat(23)}…`, 'bb    two lines'])
  const wide = tableText(
    ['NAME', 'TEXT'],
    [
      ['日本', 'y'],
      ['a', 'z'],
    ],
    { width: undefined, hasColor: false },
  )
  t.same(wide.split('\n'), ['NAME  TEXT', '日本  y', 'a     z'])
  t.match(tableText(['A'], [], { width: 80, hasColor: true }), '\u001b[1mA')
})

t.test('a table too wide for its terminal narrows the widest columns, not only the last', t => {
  const rows = [
    ['files', 'x'.repeat(60), 'ready'],
    ['github', 'short', 'y'.repeat(40)],
  ]
  const lines = tableText(['NAME', 'COMMAND', 'STATE'], rows, { width: 60, hasColor: false }).split('\n')
  t.ok(
    lines.every(line => line.length <= 60),
    lines.join('\n'),
  )
  t.match(lines[1], /^files {3}x{20,}… {2}ready$/)
  t.match(lines[2], /^github {2}short +y{20,}…$/)
  t.end()
})
