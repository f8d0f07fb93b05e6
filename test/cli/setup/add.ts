import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import t, { type Test } from 'tap'
import { parseEnvFile } from '../../../src/config/read/env-file.js'
import { createAuthority } from '../../support/certificates.js'
import { startForwardProxy } from '../../support/forward-proxy.js'
import { runHere, setEnv, startBin, TINY } from '../../support/proxy/start.js'

const fileOf = (t: Test) => {
  const config = join(t.testdir(), 'mcp.json')
  return { config, read: () => JSON.parse(readFileSync(config, 'utf8')).mcpServers }
}

t.test('add starts a command once, shows its tools, and moves its secrets', async t => {
  const { config, read } = fileOf(t)
  const added = await runHere(
    t,
    'add',
    'tiny',
    '--config',
    config,
    '--env',
    'API_KEY=planted',
    '--',
    process.execPath,
    TINY,
  )
  t.match(added, { code: 0, err: /^\S+ tiny: \d+ tools?, written to / })
  t.match(added.out, /^\w+$/m)
  t.notMatch(added.out + added.err, 'planted')
  t.same(read(), { tiny: { command: process.execPath, args: [TINY], env: { API_KEY: '${API_KEY}' } } })
  t.match(await runHere(t, 'add', 'tiny', '--config', config, '--', 'x'), {
    code: 2,
    err: /has a server "tiny"\n.*\n {2}fix: mcp-proxy remove tiny$/m,
  })
})

t.test('a server that needs a folder is tried, called and listed in the current one', async t => {
  const { config, read } = fileOf(t)
  const words = ['--config', config, '--', process.execPath, TINY, '${workspaceFolder}']
  t.match(await runHere(t, 'add', 'tiny', ...words), { code: 0, err: /tiny: \d+ tools?, written to / })
  t.same(read().tiny.args, [TINY, '${workspaceFolder}'])
  t.match(await runHere(t, 'call', 'tiny__facts', '--config', config), { code: 0 })
  const { out } = await runHere(t, 'list', '--json', '--config', config)
  t.match(JSON.parse(out).servers, [{ name: 'tiny', state: 'ready' }])
})

t.test('add creates the folder of the file for the first server', async t => {
  const config = join(t.testdir(), 'not', 'there', 'mcp.json')
  const words = ['add', 'tiny', '--config', config, '--', process.execPath, TINY]
  t.match(await runHere(t, ...words), { code: 0, err: /tiny: \d+ tools?, written to / })
  const { mcpServers } = JSON.parse(readFileSync(config, 'utf8'))
  t.same(mcpServers, { tiny: { command: process.execPath, args: [TINY] } })
})

t.test('a command runs in the folder in which its paths were typed', async t => {
  const { config, read } = fileOf(t)
  for (const [name, words] of [
    ['dot', ['.']],
    ['flag', ['--root=./x']],
    ['tool', []],
  ] as const) {
    const command = name === 'tool' ? ['uv', 'run', 'tool'] : [process.execPath, TINY, ...words]
    await runHere(t, 'add', name, '--no-check', '--config', config, '--', ...command)
    t.equal(read()[name].cwd, process.cwd(), name)
  }
  await runHere(t, 'add', 'other', '--no-check', '--config', config, '--', process.execPath, TINY)
  t.notOk('cwd' in read().other)
})

t.test('what does not start is not written, unless it is not to be started', async t => {
  const { config, read } = fileOf(t)
  const dead = ['add', 'dead', '--config', config, '--', process.execPath, '-e', 'process.exit(3)']
  t.match(await runHere(t, ...dead), {
    code: 4,
    err: /D031: dead does not start: .*code 3.*\n {2}why: nothing was written: .*--no-check/,
  })
  t.notOk(existsSync(config))
  const header = ['--header', 'Authorization: Bearer planted']
  t.match(
    await runHere(t, 'add', 'web', 'https://x.example/mcp', ...header, '--no-check', '--config', config),
    { code: 0 },
  )
  t.same(read().web, { url: 'https://x.example/mcp', headers: { Authorization: 'Bearer ${AUTHORIZATION}' } })
})

t.test('a server of a registry is added by its name', async t => {
  const { config, read } = fileOf(t)
  const server = {
    name: 'io.x/weather',
    packages: [{ registryType: 'npm', identifier: 'weather', version: '1.0.0' }],
  }
  const http = createServer((request, response) => {
    const isKnown = request.url === '/v0.1/servers/io.x%2Fweather/versions/latest'
    response.writeHead(isKnown ? 200 : 404).end(JSON.stringify({ server }))
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  t.teardown(() => http.close())
  const registry = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const more = ['--registry', registry, '--no-check', '--config', config]
  t.match(await runHere(t, 'add', 'io.x/weather', ...more), { code: 0, err: /^\S+ weather, written to/ })
  t.same(read(), { weather: { command: 'npx', args: ['-y', 'weather@1.0.0'], cwd: '~' } })
  t.match(await runHere(t, 'add', 'io.x/other', ...more), {
    code: 4,
    err: /does not list a server "io.x\/other"/,
  })
  const off = await runHere(t, 'add', 'io.x/weather2', '--registry', 'http://127.0.0.1:1', '--config', config)
  t.match(off, {
    code: 4,
    err: /cannot be reached\n {2}why: .*\(connection refused\)\n {2}fix: mcp-proxy add weather2 -- COMMAND/,
  })
})

t.test('a registry that cannot be reached names the reason and the fix', async t => {
  const { config } = fileOf(t)
  const { host } = await startForwardProxy(t, { port: 1, refuses: 403 })
  const authority = createAuthority(t)
  const { cert, key } = authority.issue('registry', 'IP:127.0.0.1')
  const tls = createTlsServer({ cert, key })
  tls.listen(0, '127.0.0.1')
  await once(tls, 'listening')
  t.teardown(() => tls.close())
  const encrypted = `https://127.0.0.1:${(tls.address() as AddressInfo).port}`
  for (const [registry, env, expected] of [
    ['http://registry.invalid', {}, /why: .*registry\.invalid \(.*\)\n {2}fix: mcp-proxy add x -- COMMAND/],
    [
      encrypted,
      {},
      /why: its certificate is refused \(UNABLE_TO.*\)\n {2}fix: start with NODE_EXTRA_CA_CERTS=/,
    ],
    [
      'https://registry.invalid',
      { HTTPS_PROXY: `http://${host}` },
      /why: the proxy .* of HTTPS_PROXY does not allow registry\.invalid.*403.*\n {2}fix: correct the proxy/,
    ],
    [
      'https://registry.invalid',
      { HTTPS_PROXY: 'http://us:planted@127.0.0.1:1' },
      /why: cannot connect to the proxy http:\/\/127\.0\.0\.1:1 of HTTPS_PROXY \(connection refused\)/,
    ],
  ] as const) {
    setEnv(t, { HTTPS_PROXY: '', https_proxy: '', HTTP_PROXY: '', http_proxy: '', ...env })
    const { code, err } = await runHere(t, 'add', 'io.x/x', '--registry', registry, '--config', config)
    t.match({ code, err: err.replaceAll(/\n {4,}/g, ' ') }, { code: 4, err: expected })
    t.notMatch(err, /planted/)
  }
})

t.test('add reports missing arguments', async t => {
  const { config } = fileOf(t)
  for (const [words, says] of [
    [['x'], /what is "x"\?/],
    [['x', 'nonsense'], /invalid URL/],
    [['x', 'https://x', '--env', 'A=b'], /--env is for a command/],
    [['x', '--header', 'A: b', '--', 'y'], /--header is for a URL/],
    [['x', 'https://x', '--header', 'A'], /--header needs "Name: value"/],
    [['x', 'https://x', '--', 'y'], /are two servers/],
    [['x', '--header', 'A: b'], /--header is for a URL/],
    [['x', '--env', 'A', '--', 'y'], /--env needs KEY=VALUE/],
    [['x', '--'], /which command\?/],
    [['io.x/y', '--registry', 'nonsense'], /--registry needs a URL without credentials/],
    [['io.x/y', '--registry', 'https://:planted@x.example'], /^(?!.*planted).*--registry needs a URL/],
  ] as const) {
    t.match(await runHere(t, 'add', '--config', config, ...words), { code: 2, err: says })
  }
})

t.test('add takes a bundle, and asks for what that cannot do without', async t => {
  const { config, read } = fileOf(t)
  const manifest = {
    name: 'my tool',
    server: { mcp_config: { command: '${__dirname}/run', env: { K: '${user_config.api_key}' } } },
    user_config: { api_key: { sensitive: true } },
  }
  const bundle = join(t.testdirName, 'a.mcpb')
  writeFileSync(bundle, zipSync({ 'manifest.json': strToU8(JSON.stringify(manifest)), run: strToU8('x') }))
  const add = (...more: string[]) => runHere(t, 'add', bundle, '--no-check', '--config', config, ...more)
  t.match(await add(), { code: 2, err: /needs API_KEY: set them, or run this on a terminal/ })
  t.notOk(existsSync(config), 'nothing is written without it')
  setEnv(t, { API_KEY: 'planted' })
  const added = await add('--as', 'mine', '--json')
  t.match(added, { code: 0 })
  t.match(JSON.parse(added.out), { version: 1, file: config, name: 'mine' })
  const { command, env, cwd } = read().mine
  t.equal(cwd, '~', 'it does not run where our secrets are')
  t.equal(readFileSync(command, 'utf8'), 'x', 'its program is unpacked')
  t.same(env, { K: '${API_KEY}' })
  t.match(await runHere(t, 'add', `${bundle}x.mcpb`, '--config', config), { code: 4, err: /cannot be read/ })
})

/** Renames take a while, so that all processes write at once. */
const SLOW = `data:text/javascript,${encodeURIComponent(`
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
const { rename } = fs
fs.rename = async (...paths) => {
  await new Promise(resolve => setTimeout(resolve, 150))
  return await rename(...paths)
}
syncBuiltinESMExports()
`)}`

t.test('servers that are added at once are all written, each with its secrets', async t => {
  const { config, read } = fileOf(t)
  const nodeArgs = ['--import', SLOW]
  const added = ['a', 'b', 'c', 'd'].map(name => {
    const words = ['--no-check', '--env', `API_KEY=planted-key-${name}`, '--', 'true']
    return startBin(t, ['add', name, '--config', config, ...words], { nodeArgs })
  })
  t.same(await Promise.all(added.map(async ({ exited }) => await exited)), [0, 0, 0, 0])
  const servers: Record<string, { env: { API_KEY: string } }> = read()
  t.same(Object.keys(servers).sort(), ['a', 'b', 'c', 'd'])
  const variables = parseEnvFile(readFileSync(join(dirname(config), 'secrets.env'), 'utf8'))
  const values = Object.values(servers).map(({ env }) => variables[env.API_KEY.slice(2, -1)])
  t.same(
    values.sort(),
    ['a', 'b', 'c', 'd'].map(name => `planted-key-${name}`),
  )
})

t.test('add shows the last lines that a server wrote before it ended', async t => {
  const { config } = fileOf(t)
  const script = 'console.error("the flux is missing\\n    at x (y.js:1:2)"); process.exit(3)'
  const bad = await runHere(t, 'add', 'bad', '--config', config, '--', process.execPath, '-e', script)
  t.match(bad, { code: 4, err: /D031: bad does not start: .*code 3.*; it last wrote: the flux is missing\n/ })
})

t.test('a verb fails if a running proxy rejects the file that it has written', async t => {
  const { config } = fileOf(t)
  const entry = { command: process.execPath, args: [TINY] }
  writeFileSync(config, JSON.stringify({ mcpServers: { a: entry, b: entry, c: entry } }))
  const proxy = startBin(t, ['serve', '--config', config, '--port', '0'])
  await proxy.line(/listening on http/)
  t.match(await runHere(t, 'disable', 'c', '--config', config), { code: 0, err: 'c is disabled' })
  writeFileSync(config, JSON.stringify({ listen: { port: 'no' }, mcpServers: { a: entry, b: entry } }))
  const rejected = {
    code: 4,
    err: /D014: serve, pid \d+.* rejected the file and keeps its previous config.*\n.*listen/,
  }
  t.match(await runHere(t, 'remove', 'a', '--config', config), rejected)
  t.match(await runHere(t, 'add', 'd', '--no-check', '--config', config, '--', 'true'), rejected)
})
