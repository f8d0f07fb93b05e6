import fs from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { parseConfig } from '../../src/config/parse.js'
import type { StdioTransport } from '../../src/config/types.js'
import {
  firstWorkspace,
  inWorkspace,
  namesWorkspace,
  workspaceOfRequest,
} from '../../src/control/workspace.js'

const PROGRAM: StdioTransport = {
  kind: 'stdio',
  command: '${workspaceFolder}/bin',
  args: ['${workspaceFolderBasename}', '${cwd}', '$x'],
  env: { AT: '${workspaceFolder}', N: '1' },
  unsetEnv: [],
  cwd: '${workspaceFolder}',
}

t.test('a program is started in the folder of its clients', async t => {
  t.match(inWorkspace(PROGRAM, '/p/app'), {
    command: '/p/app/bin',
    args: ['app', '/p/app', '$x'],
    env: { AT: '/p/app', N: '1' },
    cwd: '/p/app',
  })
  t.throws(() => inWorkspace(PROGRAM, undefined), { code: 'unavailable', message: /D033/ })
  const plain = { ...PROGRAM, command: 'x', args: [], env: {}, cwd: '/c' }
  t.match(inWorkspace(plain, undefined), { command: 'x', cwd: '/c' })
})

t.test('a standalone argument is not the folder of a client', async t => {
  const read = (...args: string[]) => {
    const entry = { command: 'x', args, env: { E: '$${cwd}' }, cwd: '/c' }
    const { config } = parseConfig(JSON.stringify({ mcpServers: { a: entry } }), '/etc/mcp.json', {
      V: '${cwd}',
      W: '$${cwd}',
    })
    const [server] = config?.servers ?? []
    return server?.transport as StdioTransport
  }
  const literal = read('$${cwd}/$${x}', '${V}', '${W}')
  t.notOk(namesWorkspace(literal))
  t.match(inWorkspace(literal, undefined), {
    args: ['${cwd}/${x}', '${cwd}', '$${cwd}'],
    env: { E: '${cwd}' },
  })
  const both = read('$${cwd}=${cwd}')
  t.ok(namesWorkspace(both))
  t.match(inWorkspace(both, '/p/app'), { args: ['${cwd}=/p/app'] })
})

t.test('a home folder, a root or a system folder is not a workspace', async t => {
  const folder = t.testdir({ file: '' })
  t.equal(
    await firstWorkspace(undefined, '', '${workspaceFolder}', '/', homedir(), tmpdir(), '/usr/bin', folder),
    folder,
  )
  t.equal(await firstWorkspace(join(folder, 'file'), join(folder, 'gone')), undefined)
})

const read = (entry: object) => {
  const { config, problems } = parseConfig(JSON.stringify({ mcpServers: { a: entry } }), '/etc/mcp.json', {})
  const [server] = config?.servers ?? []
  return { server, words: problems.map(({ key, message }) => `${key}: ${message}`) }
}

t.test('an entry that names the folder of a client runs once for each folder', async t => {
  for (const name of ['workspaceFolder', 'workspaceFolderBasename', 'cwd']) {
    const { server } = read({ command: 'x', args: [`\${${name}}/a`] })
    t.match(server, {
      sharing: 'workspace',
      transport: { cwd: '${workspaceFolder}', args: [`\${${name}}/a`] },
    })
  }
  t.match(read({ command: 'x', sharing: 'workspace' }).server, { transport: { cwd: '${workspaceFolder}' } })
  t.match(read({ command: 'x', cwd: '${cwd}/sub' }).server, { transport: { cwd: '${cwd}/sub' } })
  t.match(read({ command: 'x', args: ['${cwd}'], sharing: 'session', cwd: 'sub' }).server, {
    sharing: 'session',
    transport: { cwd: '/etc/sub' },
  })
  t.match(read({ command: 'x' }).server, { sharing: 'principal', transport: { cwd: '/etc' } })
  t.same(read({ command: 'x', args: ['${cwd}'], sharing: 'all' }).words, [
    'mcpServers.a.sharing: clients in different folders would share a program in the folder of one of them',
  ])
  t.same(read({ url: 'https://x', sharing: 'workspace' }).words, [
    'mcpServers.a.sharing: only a program runs in a folder',
  ])
  t.same(read({ url: 'https://x/${workspaceFolder}' }).words, [
    'mcpServers.a.url: the variable workspaceFolder is not set',
  ])
})

t.test('only a program of this machine names its folder in a header', async t => {
  const folder = t.testdir({ file: '' })
  const from = (headers: Record<string, string>, remoteAddress: string | undefined = '127.0.0.1') =>
    workspaceOfRequest({ headers, socket: { remoteAddress } } as unknown as IncomingMessage)
  const named = { 'mcp-proxy-workspace': folder }
  t.equal(await from(named), folder)
  t.equal(await from({ 'mcp-proxy-workspace': pathToFileURL(folder).href }), folder, 'as a URI')
  t.equal(await from({ 'mcp-proxy-workspace': 'file://%ff/' }), undefined)
  t.equal(await from({ 'mcp-proxy-workspace': 'not/absolute' }), undefined)
  t.equal(await from({}), undefined)
  t.equal(await from(named, '192.0.2.1'), undefined, 'from elsewhere')
  for (const hop of ['forwarded', 'x-forwarded-for', 'via'])
    t.equal(await from({ ...named, [hop]: 'x' }), undefined, `through another proxy, which says ${hop}`)
  for (let n = 0; n < 300; n += 1)
    t.equal(await from({ 'mcp-proxy-workspace': join(folder, String(n)) }), undefined)
  t.equal(await from(named), folder, 'however many are named')
})

t.test('a folder on a drive that hangs blocks nobody, and counts as none after a while', async t => {
  const folder = t.testdir({})
  const { realpath } = fs.promises
  const hang = (path: string) =>
    path.startsWith('/hung') ? new Promise<string>(() => undefined) : realpath(path)
  t.intercept(fs.promises, 'realpath', { value: hang, configurable: true, writable: true })
  syncBuiltinESMExports()
  // The timers of the program do not keep a process alive.
  const alive = setInterval(() => undefined, 1000)
  t.teardown(() => {
    clearInterval(alive)
    syncBuiltinESMExports()
  })
  const hung = firstWorkspace('/hung/a', folder)
  const request = { headers: { 'mcp-proxy-workspace': '/hung/a' }, socket: { remoteAddress: '127.0.0.1' } }
  const named = workspaceOfRequest(request as unknown as IncomingMessage)
  t.equal(await firstWorkspace(folder), folder, 'others are served meanwhile')
  t.equal(await hung, folder, 'the next candidate counts')
  t.equal(await named, undefined)
})
