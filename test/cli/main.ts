import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COMMANDS, isGroup, nameOf } from '../../src/cli/all-verbs.js'
import { logout } from '../../src/cli/auth/logout.js'
import type { Verb } from '../../src/cli/shared/verb.js'
import { RawClient } from '../support/client/raw-client.js'
import { isWindows } from '../support/processes.js'
import { BIN, configFile, runHere, setEnv, startBin, tiny } from '../support/proxy/start.js'

const version = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version

const USAGE: readonly (readonly [words: string, says: RegExp])[] = [
  ['--config x', /no command was given\n {2}why: commands are .*import, add/],
  ['--verson', /unknown option: --verson; did you mean --version\?/],
  [
    'sevre',
    /^mcp-proxy: unknown command: sevre; did you mean serve\?\n {2}why: commands are .*\n {2}fix: mcp-proxy serve\n$/,
  ],
  ['nonsense', /unknown command: nonsense/],
  ['check --port 1', /unknown option: --port\n {2}why: check has --config/],
  ['serve --prot 1', /unknown option: --prot; did you mean --port\?/],
  ['serve --config', /Not enough arguments following: config/],
  ['serve --config a --config b', /--config may be given once/],
  ['bridge --era auto --era auto -- node', /--era may be given once/],
  [
    'serve --config a --log-level loud',
    /"loud" is not a valid value of --log-level\n {2}why: it is one of debug, info/,
  ],
  ['serve --config a extra', /unexpected argument: extra/],
  ['serve -- node server.js', /only add and bridge take a command after --/],
  ['call', /call needs the name of a tool/],
  ['auth', /why: commands are auth login, auth logout/],
  ['auth nonsense', /unknown command: nonsense/],
  ['help nonsense', /unknown command: nonsense/],
  ['nonsense --help', /unknown command: nonsense/],
  ['help auth nonsense', /unknown command: nonsense/],
  ['auth nonsense -h', /unknown command: nonsense/],
  ['auth lgoin x', /did you mean auth login\?\n.*\n {2}fix: mcp-proxy auth login\n/],
  ['auth login', /login needs the name or the address of a server\n.*\n {2}fix: mcp-proxy auth login --help/],
  ['completion bahs', /"bahs" is not a valid value of shell; did you mean bash\?/],
  ['bridge', /which server\? Write its command after --/],
  ['bridge --', /which server\?/],
  ['bridge http://localhost:1/mcp -- node', /a URL and a command are two servers/],
  ['bridge ftp://localhost', /a complete address that begins with http:/],
  ['bridge nonsense', /a complete address that begins with http:/],
  ['bridge unix:x.sock', /a complete address that begins with http:/],
  ['bridge --from ws http://localhost:1/mcp', /--from ws needs a complete ws or wss address/],
  ['bridge --from sse ws://localhost:1/mcp', /--from sse needs a complete http or https address/],
  [
    'bridge --from grpc http://localhost:1',
    /"grpc" is not a valid value of --from\n {2}why: it is one of auto, http, sse, ws/,
  ],
  ['bridge --from sse -- node', /--from is for a URL/],
  ['bridge --header a:b unix:/run/x.sock', /--header requires HTTP: append #\/mcp/],
  ['bridge --to unix -- node', /--to unix needs --socket PATH/],
  ['bridge --to unix --socket x --port 1 -- node', /need --to http, sse or ws: a socket does not use a port/],
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
  ['bridge --host 0.0.0.0 -- node', /there is no "auth".*--allow-remote.*listen\.allowedHosts/],
]

t.test('a wrong command line is told in three lines, with a command to paste, and ends with 2', async t => {
  for (const [words, says] of USAGE) {
    const { code, out, err } = await runHere(t, ...words.split(' ').filter(word => word !== ''))
    t.equal(code, 2, words)
    t.equal(out, '', 'nothing on stdout')
    t.match(err, says, words)
    t.match(err, /^mcp-proxy: .*\n {2}why: .*\n {2}fix: mcp-proxy .*\n$/, words)
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

const VERBS: readonly (readonly [verb: Verb, words: readonly string[]])[] = COMMANDS.flatMap(command => {
  if (!isGroup(command)) return [[command, [nameOf(command)]]]
  return command.verbs.map((verb): [Verb, string[]] => [verb, [nameOf(command), nameOf(verb)]])
})

/** What they print is a protocol, a file or a script. */
const NO_DATA = ['connect', 'serve', 'service print', 'stdio', 'bridge', 'completion']

t.test('every verb that prints data has --json', async t => {
  const lacking = VERBS.filter(([{ flags }]) => !Object.hasOwn(flags, 'json'))
  t.same(
    lacking.map(([, words]) => words.join(' ')),
    NO_DATA,
  )
})

t.test('the help of every verb is a sentence, its options, and three examples or more', async t => {
  for (const [{ examples: all }, words] of VERBS) {
    const { code, out } = await runHere(t, ...words, '--help')
    t.equal(code, 0)
    t.match(
      out,
      new RegExp(
        `^mcp-proxy ${words.join(' ')}[\\s\\S]*\\n\\n[A-Z].*\\n[\\s\\S]*Options:[\\s\\S]*Examples:\\n`,
      ),
      words.join(' '),
    )
    const examples = out.slice(out.indexOf('Examples:')).match(/^ {2}\S/gm) ?? []
    t.ok(examples.length >= 3, `${words.join(' ')} has ${examples.length} examples`)
    for (const [command] of all) t.match(out, `  ${command}`, 'which can be copied')
    t.notMatch(out, /npx mcp-proxy/)
  }
})

t.test('help shows commands by what they are for, and help VERB is VERB --help', async t => {
  const { out } = await runHere(t, 'help')
  t.match(
    out,
    /Start:[\s\S]* import [\s\S]* install [\s\S]*Run:[\s\S]* connect [\s\S]* serve [\s\S]*Look:[\s\S]* status [\s\S]* list /,
  )
  t.same(await runHere(t, 'help', 'auth', 'login'), await runHere(t, 'auth', 'login', '--help'))
})

t.test(
  'mcp-proxy without arguments shows the clients it detected, and the status once it is set up',
  async t => {
    const home = t.testdir({
      '.cursor': { 'mcp.json': '{ "mcpServers": { "a": { "command": "x" }, "b": { "command": "y" } } }' },
      '.kiro': { settings: { 'mcp.json': '{ "mcpServers": { "other": { "command": "x" } } }' } },
    })
    setEnv(t, { MCP_PROXY_CONFIG: '', HOME: home, USERPROFILE: home, APPDATA: join(home, '.config') })
    const before = await runHere(t)
    t.match(before, { code: 0, out: /Found 3 servers in 2 clients, 2 to add:/, err: /mcp-proxy init/ })
    for (const row of [/^a +Cursor +user +~\/\.cursor\/mcp\.json$/m, /^other +Kiro +user +~\/\.kiro\//m])
      t.match(before.out, row)
    await runHere(t, 'import')
    const { code, out, err } = await runHere(t)
    t.equal(code, 0)
    t.equal(out.trimEnd().split('\n').length, 6)
    t.match(
      out,
      /^mcp-proxy \S+\nconfiguration .*mcp\.json\ndaemon +does not run[\s\S]*\nservers +2 servers\n/,
    )
    t.equal(err.match(/^ {2}mcp-proxy /gm)?.length, 3)
  },
)

t.test('shells complete commands, options, their values, clients, servers and tools', async t => {
  const file = configFile(
    t,
    { one: tiny(), other: { command: 'x', disabled: true } },
    { views: { web: { servers: ['one'] } } },
  )
  const complete = async (...words: string[]) =>
    (await runHere(t, '--get-yargs-completions', ...words)).out.split('\n').filter(line => line !== '')
  for (const [words, found] of [
    ['mcp-proxy ena', ['enable']],
    ['mcp-proxy auth log', ['login', 'logout']],
    ['mcp-proxy auth login --no', ['--no-browser']],
    ['mcp-proxy install --scope ', ['user', 'project']],
    ['mcp-proxy install cursor vscode', ['vscode', 'vscode-insiders']],
    ['mcp-proxy import --from curs', ['cursor']],
    ['mcp-proxy help auth logo', ['logout']],
    [`mcp-proxy enable --config ${file} o`, ['one', 'other']],
    [`mcp-proxy enable --config ${file} one o`, []],
    [`mcp-proxy connect --config ${file} --view `, ['web']],
    [`mcp-proxy add x`, []],
    ['mcp-proxy nonsense ', []],
    ['fish mcp-proxy auth logo', [`logout\t${logout.describe}`]],
  ] as const) {
    t.same(await complete(...words.split(' ')), found, words)
  }
  // What a server listed when it last ran is known without starting it.
  const proxy = startBin(t, ['serve', '--config', file, '--port', '0'])
  const url = (await proxy.line(/listening/)).split(' ').at(-1) ?? ''
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  proxy.child.kill('SIGTERM')
  await proxy.exited
  t.match(await complete('mcp-proxy', 'call', '--config', file, 'one__e'), ['one__echo'])
})

t.test('the scripts of shells ask this program', async t => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await runHere(t, 'completion', shell)
    t.equal(code, 0)
    t.match(out, 'mcp-proxy --get-yargs-completions')
  }
})

t.test('help after -- belongs to the command', async t => {
  t.match(
    (await runHere(t, 'bridge', '--to', 'stdio', '--port', '1', '--', 'node', '--help')).err,
    /need --to http/,
  )
})

t.test('without a configuration it is said how to name one', async t => {
  const home = t.testdir()
  setEnv(t, { MCP_PROXY_CONFIG: '', HOME: home, USERPROFILE: home, APPDATA: home })
  t.match(await runHere(t, 'list'), {
    code: 3,
    err: /D010: .*\n {2}why: .*neither --config nor MCP_PROXY_CONFIG.*\n {2}fix: mcp-proxy init\n$/,
  })
  process.env.MCP_PROXY_CONFIG = '/nowhere/mcp.json'
  t.match(await runHere(t, 'list'), { code: 3, err: /^\/nowhere\/mcp\.json: error: there is no such file/ })
  t.match((await runHere(t, 'list', '--config', '/elsewhere')).err, /^\/elsewhere: error/, 'the flag wins')
})

t.test('in a deleted folder, every verb reports it', { skip: isWindows }, async t => {
  const home = t.testdir({ 'mcp.json': '{ "mcpServers": {} }' })
  const gone = join(home, 'gone')
  const script = 'mkdir -p "$0" && cd "$0" && rmdir "$0" && exec "$@"'
  const env = { ...process.env, HOME: home, MCP_PROXY_CONFIG: join(home, 'mcp.json') }
  for (const verb of ['', 'help', 'check', 'status', 'init', 'connect', 'doctor', 'stdio', 'add x -- y']) {
    const words = [process.execPath, BIN, ...verb.split(' ').filter(Boolean)]
    const { status, stderr } = spawnSync('sh', ['-c', script, gone, ...words], { env, encoding: 'utf8' })
    t.equal(status, 4, verb)
    t.match(stderr, /^mcp-proxy: the current folder does not exist\n {2}why: .*\n {2}fix: .*cd ~\n$/, verb)
  }
})

t.test('each program in bin finds what the build makes', async t => {
  const folder = new URL('../../bin/', import.meta.url)
  const programs = readdirSync(folder, { withFileTypes: true }).filter(entry => entry.isFile())
  const named = programs.flatMap(({ name }) =>
    [...readFileSync(new URL(name, folder), 'utf8').matchAll(/'(\.\.\/dist\/\w[^']*\.c?js)'/g)].map(
      ([, path = '']) => [name, path] as const,
    ),
  )
  t.same(named.map(([name]) => name).sort(), ['mcp-proxy.js', 'start-example.mjs'])
  for (const [name, path] of named) t.ok(existsSync(new URL(path, folder)), `${name}: ${path}`)
})
