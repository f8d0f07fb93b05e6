import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { isWindows, skipWithout } from '../support/processes.js'
import { INITIALIZE, startBin, tiny } from '../support/proxy/start.js'
import { BROWSER } from '../support/server/login-server.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const readme = readFileSync(join(root, 'README.md'), 'utf8')

/** Our code is four fifths of it. A larger package needs a reason. */
const MAX_BYTES = 775_000

interface Ran {
  readonly code: number
  readonly text: string
}

/** Runs a program; on Windows, npm and our command are batch files. Answers no question. */
const run = (
  program: string,
  args: readonly string[],
  { env = process.env, cwd = root }: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<Ran> =>
  new Promise(resolve => {
    const child = execFile(program, args, { env, cwd, shell: isWindows }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), text: out + err })
    })
    child.stdin?.end()
  })

const folder = mkdtempSync(join(tmpdir(), 'mcp-package-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))

/** Packs what `npm run build` wrote. Resolves with the tarball and npm's description of it. */
const pack = async (t: Test) => {
  const { code, text } = await run('npm', [
    'pack',
    '--json',
    '--ignore-scripts',
    '--pack-destination',
    folder,
  ])
  t.equal(code, 0, text)
  const [packed] = JSON.parse(text.slice(text.indexOf('['), text.lastIndexOf(']') + 1))
  return {
    tarball: join(folder, packed.filename),
    size: packed.size,
    files: packed.files as { path: string }[],
  }
}

t.test('the package is small, and has only files that it needs', async t => {
  const { size, files } = await pack(t)
  t.ok(size <= MAX_BYTES, `${size} bytes`)
  const paths = files.map(({ path }) => path)
  for (const path of [
    'LICENSE',
    'README.md',
    'bin/connect.cjs',
    'bin/mcp-proxy.js',
    'config/mcp-proxy.schema.json',
  ])
    t.ok(paths.includes(path), path)
  t.same(
    paths.filter(path => /\.(?:map|code|log|tgz)$|^(?:src|test|bench|docs|node_modules)\//.test(path)),
    [],
  )
})

t.test('the package names its repository in one way, and no dependency runs a script', async t => {
  const { repository, homepage, bugs, keywords, engines } = manifest
  const [, url = ''] = /^git\+(https:\/\/\S+)\.git$/.exec(repository.url) ?? []
  t.ok(url !== '', repository.url)
  t.equal(homepage, `${url}#readme`)
  t.equal(bugs.url, `${url}/issues`)
  t.ok(keywords.includes('mcp'))
  t.match(engines.node, /20/)
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const scripted = Object.entries<{ dev?: boolean; optional?: boolean; hasInstallScript?: boolean }>(packages)
    .filter(([path, { dev, hasInstallScript }]) => path !== '' && dev !== true && hasInstallScript === true)
    .map(([path]) => path)
  t.same(scripted, [])
})

/** Commands of the README. `type` has the words to type, if they differ; `shows` matches the output. */
const COMMANDS: Readonly<Record<string, { readonly type?: readonly string[]; readonly shows: RegExp }>> = {
  init: { type: ['init', '--yes'], shows: /1 server → 1 entry/ },
  'add NAME -- COMMAND': { type: ['add', 'fresh', '--', ...words(tiny('--more', '1'))], shows: /fresh/ },
  check: { shows: /2 servers/ },
  'why NAME': { type: ['why', 'fresh'], shows: /fresh/ },
  doctor: { type: ['doctor', '--offline'], shows: /configuration/ },
  ui: { shows: /http:\/\/127\.0\.0\.1:\d+\/ui/ },
  'install CLIENT': { type: ['install', 'windsurf', '--yes'], shows: /Windsurf/ },
  'install claude-code': { type: ['install', 'claude-code', '--print'], shows: /connect/ },
  'install claude-desktop': { type: ['install', 'claude-desktop', '--print'], shows: /connect/ },
  'install cursor': { type: ['install', 'cursor', '--yes'], shows: /Cursor/ },
  'install vscode': { type: ['install', 'vscode', '--print'], shows: /connect/ },
  'install codex': { type: ['install', 'codex', '--print'], shows: /connect/ },
  'install CLIENT --undo': { type: ['install', 'cursor', '--undo', '--yes'], shows: /Cursor/ },
}

function words({ command, args }: { readonly command: string; readonly args: readonly string[] }) {
  return [command, ...args]
}

/** Returns the commands in code of the README, without `serve` and the one that needs a terminal. */
const commandsOfReadme = (): string[] => {
  const code = [...readme.matchAll(/^```sh\n([\s\S]*?)^```|`([^`\n]+)`/gm)].map(
    ([, block = '', span = '']) => block + span,
  )
  const commands = code.flatMap(text =>
    [...text.matchAll(/^mcp-proxy(?: (.+))?$/gm)].map(([, rest = '']) => rest),
  )
  return [...new Set(commands)].filter(command => command !== '' && command !== 'serve')
}

/** A home with one client that has one server. */
const createHome = (t: Test, bin: string) => {
  const home = mkdtempSync(join(tmpdir(), 'mcp-h-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  mkdirSync(join(home, '.cursor'))
  mkdirSync(join(home, '.codeium', 'windsurf'), { recursive: true })
  const cursor = join(home, '.cursor', 'mcp.json')
  writeFileSync(cursor, JSON.stringify({ mcpServers: { shop: tiny() } }))
  const env = {
    PATH: [bin, dirname(process.execPath), process.env['PATH']].join(delimiter),
    ...{ HOME: home, USERPROFILE: home, APPDATA: home, LOCALAPPDATA: home, LANG: 'C.UTF-8', BROWSER },
    ...{ XDG_STATE_HOME: join(home, 's'), MCP_PROXY_RUN_DIR: join(home, 'r') },
    ...(isWindows && { SystemRoot: process.env['SystemRoot'], PATHEXT: process.env['PATHEXT'] }),
  }
  return { home, env, cursor }
}

/** Asks a program on stdio for its tools. */
const toolsOf = async (
  t: Test,
  { command, args = [] }: { command: string; args?: readonly string[] },
  env: Record<string, string>,
): Promise<string> => {
  t.equal(command, process.execPath, 'the client starts Node')
  const [bin = '', ...rest] = args
  const client = startBin(t, rest, { bin, env })
  client.send(INITIALIZE, { method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
  const line = await client.line(/"id":2/)
  client.child.stdin?.end()
  await client.exited
  return line
}

t.test('the package runs the commands of the README from an empty prefix', { timeout: 300_000 }, async t => {
  const { tarball } = await pack(t)
  const prefix = join(folder, 'prefix')
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--prefix', prefix]
  const installed = await run('npm', ['install', '--global', ...flags, tarball])
  if (
    installed.code !== 0 &&
    process.env['CI'] === undefined &&
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED/.test(installed.text)
  )
    return void t.pass('', { skip: 'the registry with the dependencies cannot be reached' })
  t.equal(installed.code, 0, installed.text)

  const bin = isWindows ? prefix : join(prefix, 'bin')
  const program = join(bin, isWindows ? 'mcp-proxy.cmd' : 'mcp-proxy')
  const { home, env, cursor } = createHome(t, bin)
  const type = (...args: readonly string[]) => run(program, args, { env, cwd: home })
  t.teardown(() => type('uninstall', '--yes'))

  t.match(await type('--version'), { code: 0, text: manifest.version })
  t.same(
    commandsOfReadme().filter(command => COMMANDS[command] === undefined),
    [],
    'each command has a row',
  )
  for (const [command, { type: typed = command.split(' ').filter(Boolean), shows }] of Object.entries(
    COMMANDS,
  )) {
    t.ok(commandsOfReadme().includes(command), `the README has "mcp-proxy ${command}"`)
    t.match(await type(...typed), { code: 0, text: shows }, `mcp-proxy ${command}`)
    if (command !== 'init') continue
    const { mcpServers } = JSON.parse(readFileSync(cursor, 'utf8'))
    t.match(await toolsOf(t, mcpServers['mcp-proxy'], env as Record<string, string>), /echo/, 'connect')
  }

  const [, example = ''] = /^```jsonc\n([\s\S]*?)^```/m.exec(readme) ?? []
  const file = join(home, 'example.json')
  writeFileSync(file, example)
  const variables = { ...env, GITHUB_TOKEN: 'x', SEARCH_TOKEN: 'x' }
  const checked = await run(program, ['check', '--config', file], { env: variables, cwd: home })
  t.match(checked, { code: 0, text: /2 servers/ }, 'the example of a configuration')

  const bare = join(home, 'serve.json')
  writeFileSync(bare, JSON.stringify({ mcpServers: { shop: tiny() } }))
  const script = join(
    prefix,
    ...(isWindows ? [] : ['lib']),
    'node_modules',
    manifest.name,
    'bin',
    'mcp-proxy.js',
  )
  const served = startBin(t, ['serve', '--config', bare, '--port', '0'], { bin: script, env: env as never })
  const url = (await served.line(/listening on http/)).split(' ').at(-1) ?? ''
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const body = JSON.stringify({ jsonrpc: '2.0', ...INITIALIZE })
  t.match(await (await fetch(url, { method: 'POST', headers, body })).text(), /"serverInfo"/, 'serve')

  if (skipWithout.script !== false) return
  const terminal = await run('script', ['-qec', program, '/dev/null'], {
    env: { ...env, TERM: 'dumb' },
    cwd: home,
  })
  t.match(terminal, { code: 0, text: /2 servers/ }, 'mcp-proxy at a terminal')
})
