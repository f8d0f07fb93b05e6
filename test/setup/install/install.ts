import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { CLIENTS, type ClientProgram } from '../../../src/setup/clients/clients.js'
import { foldersOf } from '../../../src/setup/clients/machine.js'
import type { Json } from '../../../src/setup/edit/change.js'
import { systemDisk } from '../../../src/setup/files/disk.js'
import { openFile } from '../../../src/setup/files/edit-file.js'
import { claudeProgram } from '../../../src/setup/install/claude.js'
import { entryFor, placeVariables } from '../../../src/setup/install/entry.js'
import {
  entryMembersOf,
  type InstallContext,
  placesToUndo,
  planInstall,
  planUndo,
} from '../../../src/setup/install/install.js'
import { Journals, type Terms } from '../../../src/setup/install/journal.js'
import { isWindows } from '../../support/processes.js'

const PROGRAMS = { node: 'NODE', connect: 'CONNECT', config: 'FILE', version: '0.3.1' }
const STDIO: Terms = { via: 'stdio', url: 'http://127.0.0.1:8808/mcp', view: undefined, project: undefined }
const FOLDER = fileURLToPath(new URL('../../fixtures/clients/', import.meta.url))

const contextIn = (home: string): InstallContext => ({
  files: { disk: systemDisk, backups: join(home, 'state', 'backups') },
  journals: new Journals(systemDisk, join(home, 'state')),
  own: { scripts: ['CONNECT'], urls: [STDIO.url] },
  machine: { platform: 'linux', home, cwd: home, env: {} },
})

const clientOf = (id: string): ClientProgram => CLIENTS.find(client => client.id === id) as ClientProgram

/** The file of a client in a home folder, and what is done to it. */
const fileOf = (t: Test, client: ClientProgram, content: string | undefined, home = t.testdir()) => {
  const folders = foldersOf({ platform: 'linux', home, cwd: home, env: {} })
  const file = client.user(folders)[0] ?? join(home, '.mcp.json')
  mkdirSync(dirname(file), { recursive: true })
  if (content !== undefined) writeFileSync(file, content)
  const context = contextIn(home)
  const place = { client, scope: 'user', file } as const
  const names = async () => [
    ...entryMembersOf((await openFile(context.files, file, client.syntax)).value, client.at).keys(),
  ]
  return {
    home,
    file,
    context,
    read: () => readFileSync(file, 'utf8'),
    async install({ takesOver = false, terms = STDIO, context: with_ = context } = {}) {
      const entry = entryFor(client, terms, PROGRAMS) as Readonly<Record<string, Json>>
      const plan = await planInstall(with_, place, { entry, terms, takes: takesOver ? await names() : [] })
      await plan.carryOut()
      return plan
    },
    async undo() {
      const plan = await planUndo(context, place)
      await plan.carryOut()
      return plan
    },
  }
}

t.test('each client gets our entry in the way of its file, and undo restores it byte for byte', async t => {
  t.equal(CLIENTS.length, 21)
  for (const client of CLIENTS) {
    const golden = (name: string) => readFileSync(join(FOLDER, client.id, name), 'utf8')
    const { install, undo, read } = fileOf(t, client, golden('before'))
    await install()
    t.equal(read(), golden('after'), `${client.id}: after`)
    t.same((await install()).changes, [], `${client.id}: a second time nothing changes`)
    t.equal(read(), golden('after'))
    await install({ takesOver: true })
    t.equal(read(), golden('taken-over'), `${client.id}: taken over`)
    await undo()
    t.equal(read(), golden('undone'), `${client.id}: undone`)
    t.equal(read(), golden('before'))
    t.same((await undo()).changes, [], `${client.id}: nothing is left to undo`)
    await install({ takesOver: true })
    t.equal(read(), golden('taken-over'), `${client.id}: taken over at once`)
    await undo()
    t.equal(read(), golden('before'))
  }
})

t.test('a file that changed meanwhile keeps the changes, and gets its removed entries back', async t => {
  const before = '{ "mcpServers": { "db": { "command": "db-mcp" }, "web": { "url": "https://x" } } }'
  const { file, install, undo, read } = fileOf(t, clientOf('kiro'), before)
  await install({ takesOver: true })
  const entry = JSON.parse(read()).mcpServers['mcp-proxy']
  writeFileSync(
    file,
    JSON.stringify({ mine: 1, mcpServers: { 'mcp-proxy': entry, web: { url: 'https://new' } } }),
  )
  await undo()
  t.same(JSON.parse(read()), {
    mine: 1,
    mcpServers: { db: { command: 'db-mcp' }, web: { url: 'https://new' } },
  })
})

t.test('a foreign entry of our name is shown without its secrets, and comes back', async t => {
  const before =
    '{ "mcpServers": { "mcp-proxy": { "command": "npx", "args": ["mcp-proxy"], "env": { "K": "planted" } } } }'
  const { file, install, undo, read } = fileOf(t, clientOf('kiro'), before)
  const { lines } = await install()
  t.match(lines, [
    /^- mcpServers\.mcp-proxy \{"command":"npx"/,
    /^\+ mcpServers\.mcp-proxy \{"command":"NODE"/,
  ])
  t.notMatch(lines.join(), 'planted')
  writeFileSync(file, `${read()}\n`)
  await undo()
  t.same(JSON.parse(read()), JSON.parse(before))
})

t.test('of long entries the beginning and the end are shown', async t => {
  const entry = {
    command: 'node',
    args: ['-e', `first${'x'.repeat(5000)}last`, ...Array(90).fill('y'.repeat(99))],
  }
  const { install } = fileOf(t, clientOf('cursor'), JSON.stringify({ mcpServers: { long: entry } }))
  const { lines } = await install({ takesOver: true })
  const [line = ''] = lines.filter(each => each.startsWith('- '))
  t.match(
    line,
    /^- mcpServers\.long \{"command":"node","args":\["-e","firstx{75} … \[4849 characters\] … x{76}last","y/,
  )
  t.match(line, /… \[\d+ characters\] … .*y"\]\}$/)
  t.ok(line.length < 1700)
})

t.test('a file that was not there is made, private, and gone after undo', async t => {
  const { file, install, undo } = fileOf(t, clientOf('cursor'), undefined)
  await install()
  t.equal(statSync(file).mode & 0o777, 0o600)
  await undo()
  t.throws(() => statSync(file), { code: 'ENOENT' })
})

t.test('two clients that share a file share our entry, which goes with the last of them', async t => {
  const home = t.testdir()
  const before = '{ "mcpServers": { "db": { "command": "x" } } } // kept\n'
  const one = fileOf(t, clientOf('kiro'), before, home)
  const other = fileOf(t, clientOf('lmstudio'), undefined, home)
  symlinkSync(one.file, other.file)
  await one.install()
  const after = one.read()
  t.same((await other.install()).changes, [], 'it is there')
  t.equal(one.read(), after)
  await one.undo()
  t.equal(one.read(), after, 'the other one still needs it')
  await other.undo()
  t.equal(one.read(), before)
})

t.test('what two clients take from a file that they share comes back with the last of them', async t => {
  const before = '{\n  "mcpServers": {\n    "db": { "command": "x" }, // of db\n    "b": {}\n  }\n}\n'
  for (const isFirstFirst of [true, false]) {
    for (const more of ['', '// later\n']) {
      const home = t.testdir()
      const one = fileOf(t, clientOf('kiro'), before, home)
      const other = fileOf(t, clientOf('lmstudio'), undefined, home)
      rmSync(other.file, { force: true })
      symlinkSync(one.file, other.file)
      await one.install()
      await other.install({ takesOver: true })
      writeFileSync(one.file, one.read() + more)
      const order = isFirstFirst ? [one, other] : [other, one]
      await order[0]?.undo()
      t.match(one.read(), 'mcp-proxy')
      await order[1]?.undo()
      if (more === '') t.equal(one.read(), before)
      t.notMatch(one.read(), 'mcp-proxy')
      t.match(one.read(), /"db": \{\s*"command": "x"/)
    }
  }
})

t.test('a file that was restored by hand counts as new', async t => {
  const before = '{ "mcpServers": { "a": { "command": "x" }, "b": { "command": "y" } } }'
  for (const more of ['', ' // later']) {
    const { file, install, undo, read } = fileOf(t, clientOf('kiro'), before)
    await install({ takesOver: true })
    writeFileSync(file, before + more)
    await install({ takesOver: true })
    await undo()
    t.equal(read(), before + more)
  }
})

t.test('undo of a changed entry restores the content from before the first change', async t => {
  const { install, undo, read } = fileOf(t, clientOf('gemini'), '{}')
  await install()
  // More often than copies are kept.
  for (let count = 0; count < 25; count += 1) await install({ terms: { ...STDIO, view: `v${count}` } })
  await install({ terms: { ...STDIO, via: 'http', view: 'web' } })
  t.same(JSON.parse(read()), {
    mcpServers: { 'mcp-proxy': { type: 'http', url: 'http://127.0.0.1:8808/mcp/web' } },
  })
  await undo()
  t.equal(read(), '{}')
})

t.test('wherever an install is killed, the file is the old or the new one, and can be undone', async t => {
  const before = '{ "mcpServers": { "db": { "command": "x" } } }'
  let isDone = false
  for (let after = 0; !isDone; after += 1) {
    const { home, install, undo, read } = fileOf(t, clientOf('kiro'), before)
    const context = contextIn(home)
    let steps = 0
    // As if killed: nothing works any more, tidying up included.
    const disk = Object.fromEntries(
      Object.entries(systemDisk).map(([name, work]) => [
        name,
        async (...args: unknown[]) => {
          steps += 1
          if (steps > after) throw Object.assign(new Error('killed'), { code: 'EIO' })
          return await (work as (...args: unknown[]) => Promise<unknown>)(...args)
        },
      ]),
    ) as unknown as typeof systemDisk
    const files = { ...context.files, disk }
    const killed = { ...context, files, journals: new Journals(disk, join(home, 'state')) }
    isDone = await install({ context: killed, takesOver: true }).then(
      () => true,
      () => false,
    )
    const found = JSON.parse(read()).mcpServers
    t.ok('db' in found !== 'mcp-proxy' in found, `step ${after}: one or the other`)
    await undo()
    t.equal(read(), before, `step ${after}: undone`)
    if (after > 300) t.bailout('it never ends')
  }
})

t.test('no entry of a project holds a path of this machine', async t => {
  const terms = { ...STDIO, project: '/p' }
  t.same(entryFor(clientOf('cursor'), terms, PROGRAMS), {
    command: 'mcp-proxy',
    args: ['connect', '--client', 'cursor', '--workspace', '${workspaceFolder}'],
  })
  const http = CLIENTS.map(client => [
    client.id,
    entryFor(client, { ...STDIO, via: 'http', url: 'U' }, PROGRAMS),
  ])
  t.match(Object.fromEntries(http), {
    'claude-code': { type: 'http', url: 'U' },
    cursor: { url: 'U' },
    windsurf: { serverUrl: 'U' },
    cline: { type: 'streamableHttp', url: 'U' },
    continue: { type: 'streamable-http', url: 'U' },
    goose: { type: 'streamable_http', uri: 'U' },
    opencode: { type: 'remote', url: 'U', enabled: true },
    'copilot-cli': { type: 'http', url: 'U', tools: ['*'] },
    'claude-desktop': undefined,
  })
})

t.test('undo brings servers back that were taken out of a file that is gone', async t => {
  const before = '{ "mcpServers": { "db": { "command": "x" } } } // mine\n'
  const { file, install, undo, read } = fileOf(t, clientOf('cursor'), before)
  await install({ takesOver: true })
  rmSync(file)
  t.match((await undo()).changes, [{ name: 'db' }])
  t.equal(read(), before, 'byte for byte')
  await install({ takesOver: true })
  // Without the copy, the servers themselves are known.
  rmSync(file)
  rmSync(join(dirname(dirname(file)), 'state', 'backups'), { recursive: true })
  await undo()
  t.same(JSON.parse(read()), { mcpServers: { db: { command: 'x' } } })
  await install()
  rmSync(file)
  t.same((await undo()).changes, [], 'nothing was taken')
})

t.test('a journal that cannot be read is told, and stays', async t => {
  const { home, install, undo, read } = fileOf(t, clientOf('cursor'), '{}')
  await install()
  const after = read()
  const journal = join(home, 'state', 'installs', 'cursor-user.json')
  for (const text of ['{ "version": 1, "inst', '{ "version": 2, "installs": [] }', '']) {
    writeFileSync(journal, text)
    for (const work of [undo, () => install({ terms: { ...STDIO, view: 'x' } })])
      await t.rejects(work(), { message: /cursor-user\.json: this is not a journal/, fix: /mv \S+ / })
    t.equal(readFileSync(journal, 'utf8'), text)
    t.equal(read(), after)
  }
})

t.test('an install is undone where it was made, wherever the client looks by now', async t => {
  const { home, context, install, read } = fileOf(t, clientOf('codex'), 'model = "x"\n')
  await install()
  const later = {
    client: clientOf('codex'),
    scope: 'user' as const,
    file: join(home, 'later', 'config.toml'),
  }
  const [place] = await placesToUndo(context, later)
  if (place !== undefined) await (await planUndo(context, place)).carryOut()
  t.equal(read(), 'model = "x"\n')
  t.same(await placesToUndo(context, later), [later], 'there is nothing elsewhere any more')
})

t.test('a client that writes its file meanwhile does not keep ours from it', async t => {
  const before = '{ "mcpServers": { "db": { "command": "x" } }, "starts": 1 }'
  const { file, context, home, install, read, undo } = fileOf(t, clientOf('cursor'), before)
  const writingOnce = (text: string): InstallContext => {
    let isWritten = false
    const open: typeof systemDisk.open = async (path, ...more) => {
      if (path.startsWith(`${file}.`) && path.endsWith('.tmp') && !isWritten) {
        isWritten = true
        writeFileSync(file, text)
      }
      return await systemDisk.open(path, ...more)
    }
    const disk = { ...systemDisk, open }
    return {
      ...context,
      files: { ...context.files, disk },
      journals: new Journals(disk, join(home, 'state')),
    }
  }
  const newer = before.replace('1', '2')
  await install({ takesOver: true, context: writingOnce(newer) })
  t.match(JSON.parse(read()), { mcpServers: { 'mcp-proxy': {} }, starts: 2 })
  await undo()
  t.equal(read(), newer)
  // The server is another one than the user has seen.
  const other = before.replace('"x"', '"y"')
  const writing = install({ takesOver: true, context: writingOnce(other) })
  await t.rejects(writing, { message: /another program has just changed this file/ })
  t.equal(read(), other)
})

t.test('the entry of every client names the folders in which its daemon is found', async t => {
  const env = placeVariables({
    platform: 'linux',
    home: '/h',
    cwd: '/c',
    env: { MCP_PROXY_RUN_DIR: 'run', XDG_STATE_HOME: '/s' },
  })
  t.same(env, { MCP_PROXY_RUN_DIR: '/c/run', XDG_STATE_HOME: '/s' })
  t.same(placeVariables({ platform: 'linux', home: '/h', cwd: '/c', env: { XDG_STATE_HOME: 's' } }), {})
  for (const client of CLIENTS) {
    const entry = entryFor(client, STDIO, { ...PROGRAMS, env })
    const key = { opencode: 'environment', goose: 'envs' }[client.id] ?? 'env'
    t.same(entry?.[key], env, client.id)
    t.notMatch(JSON.stringify(entryFor(client, { ...STDIO, project: '/p' }, { ...PROGRAMS, env })), '/c/run')
  }
})

t.test('a name with control characters does not reach the terminal as it is', async t => {
  const odd = 'good\u001b[2K\r+ nothing changes\u202e'
  const { install } = fileOf(
    t,
    clientOf('cursor'),
    JSON.stringify({ mcpServers: { [odd]: { command: 'x' } } }),
  )
  const { lines } = await install({ takesOver: true })
  t.equal(lines.length, 2)
  t.notMatch(lines.join(''), /[\p{Cc}\u202e]/u)
})

t.test(
  'an entry that may hold a secret is not passed to Claude Code as an argument',
  { skip: isWindows },
  async t => {
    const home = t.testdir({ claude: '#!/bin/sh\necho "$@" >> "$(dirname "$0")/args"\n' })
    chmodSync(join(home, 'claude'), 0o755)
    const add = await claudeProgram({ platform: 'linux', home, cwd: home, env: { PATH: home } })
    for (const [entry, isPassed] of [
      [{ command: 'node', args: ['x'], env: { MCP_PROXY_RUN_DIR: '/r' } }, true],
      [{ type: 'http', url: 'http://127.0.0.1:8808/mcp' }, true],
      [{ command: 'node', env: { API_KEY: 'planted' } }, false],
      [{ type: 'http', url: 'http://127.0.0.1/mcp', headers: { Authorization: 'planted' } }, false],
      [{ type: 'http', url: 'http://me:planted@127.0.0.1/mcp' }, false],
      [{ type: 'http', url: 'http://127.0.0.1/mcp?key=planted' }, false],
    ] as const)
      t.equal(await add?.('mcp-proxy', entry), isPassed, JSON.stringify(entry))
    t.notMatch(readFileSync(join(home, 'args'), 'utf8'), 'planted')
  },
)

t.test('an entry that its client would not start replaces no server', async t => {
  const servers = { mcpServers: { a: { command: 'a' } } }
  const rows: readonly (readonly [setting: string, id: string, files: Record<string, object>])[] = [
    ['"mcp.allowed"', 'gemini', { '.gemini/settings.json': { ...servers, mcp: { allowed: ['a'] } } }],
    [
      '"mcp.excluded"',
      'gemini',
      { '.gemini/settings.json': { ...servers, mcp: { excluded: ['mcp-proxy'] } } },
    ],
    [
      '"chat.mcp.access"',
      'vscode',
      {
        '.config/Code/User/mcp.json': { servers: servers.mcpServers },
        '.config/Code/User/settings.json': { 'chat.mcp.access': 'registry' },
      },
    ],
    ...[
      { deniedMcpServers: [{ serverName: 'mcp-proxy' }] },
      { allowedMcpServers: [{ serverName: 'a' }] },
      { allowedMcpServers: [{ serverName: 'mcp-proxy' }, { serverCommand: ['a'] }] },
      { allowedMcpServers: [] },
    ].map(settings => {
      const files = { '.claude.json': servers, '.claude/settings.json': settings }
      return [`"${Object.keys(settings).join('')}"`, 'claude-code', files] as const
    }),
  ]
  for (const [setting, id, files] of rows) {
    const home = t.testdir()
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(home, name)), { recursive: true })
      writeFileSync(join(home, name), JSON.stringify(content))
    }
    const { install, read } = fileOf(t, clientOf(id), undefined, home)
    const before = read()
    await t.rejects(install({ takesOver: true }), {
      message: new RegExp(`: ${setting} keeps .* from starting mcp-proxy$`),
      fix: new RegExp(`^change ${setting} of `),
    })
    t.equal(read(), before, `${id}: ${setting}`)
  }
})

t.test('an entry that the lists of its client name replaces servers', async t => {
  const command = ['NODE', 'CONNECT', '--config', 'FILE', '--client', 'claude-code']
  const servers = { mcpServers: { a: { command: 'a' } } }
  for (const settings of [
    { allowedMcpServers: [{ serverName: 'mcp-proxy' }] },
    { allowedMcpServers: [{ serverCommand: command }] },
  ]) {
    const home = t.testdir({
      '.claude.json': JSON.stringify({
        ...servers,
        projects: { '/p': { disabledMcpServers: ['mcp-proxy'] } },
      }),
      '.claude': { 'settings.json': JSON.stringify(settings) },
    })
    const { install, read } = fileOf(t, clientOf('claude-code'), undefined, home)
    await install({ takesOver: true })
    t.same(Object.keys(JSON.parse(read()).mcpServers), ['mcp-proxy'], JSON.stringify(settings))
  }
})
