import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { CLIENTS, type ClientProgram } from '../../../src/setup/clients/clients.js'
import { foldersOf } from '../../../src/setup/clients/machine.js'
import { systemDisk } from '../../../src/setup/files/disk.js'
import { openFile } from '../../../src/setup/files/edit-file.js'
import { entryFor, KEY } from '../../../src/setup/install/entry.js'
import { entryMembersOf, planInstall, planUndo } from '../../../src/setup/install/install.js'
import { Journals } from '../../../src/setup/install/journal.js'
import { isWindows } from '../../support/processes.js'

const PROGRAMS = { node: 'NODE', connect: 'CONNECT', config: 'FILE', version: '0.3.1' }
const TERMS = { via: 'stdio', url: 'http://127.0.0.1:8808/mcp', view: undefined, project: undefined } as const
const FOLDER = fileURLToPath(new URL('../../fixtures/clients/', import.meta.url))
const BOM = '\uFEFF'

const clientOf = (id: string): ClientProgram => CLIENTS.find(client => client.id === id) as ClientProgram

const golden = ({ id }: ClientProgram): string =>
  readFileSync(join(FOLDER, id, 'before'), 'utf8').replaceAll('\r\n', '\n')

/** A client with a file of this content, and what is done to it. */
const clientWith = (t: Test, client: ClientProgram, content: string) => {
  const home = t.testdir()
  const [file = ''] = client.user(foldersOf({ platform: 'linux', home, cwd: home, env: {} }))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
  const context = {
    files: { disk: systemDisk, backups: join(home, 'backups') },
    journals: new Journals(systemDisk, home),
    own: { scripts: ['CONNECT'], urls: [TERMS.url] },
    machine: { platform: 'linux', home, cwd: home, env: {} },
  } as const
  const place = { client, scope: 'user', file } as const
  const members = async () =>
    entryMembersOf((await openFile(context.files, file, client.syntax)).value, client.at)
  const read = (): string => readFileSync(file, 'utf8')
  return {
    file,
    members,
    read,
    async install(takesOver = false) {
      const entry = entryFor(client, TERMS, PROGRAMS) ?? {}
      const takes = takesOver ? [...(await members()).keys()] : []
      const plan = await planInstall(context, place, { entry, terms: TERMS, takes })
      await plan.carryOut()
      return plan.changes.length
    },
    async undo() {
      await (await planUndo(context, place)).carryOut()
    },
  }
}

/** Changes the words of JSON, comments included. */
const inWords = (text: string, change: (word: string, at: number) => string): string =>
  text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|[{}[\],:]|[^\s{}[\],:"/]+/g, change)

/** Comments between all words. */
const stuffed = (text: string): string =>
  inWords(text, (word, at) => (word.startsWith('/') ? word : `/* b${at} */${word}/* a${at} */`))

const withoutComments = (text: string): string => inWords(text, word => (word.startsWith('/') ? '' : word))

/** A comma after the last member of each map and list that has any. */
const trailing = (text: string): string => withoutComments(text).replace(/([^\s{[,])(\s*)(?=[}\]])/g, '$1,$2')

const commented = (text: string): string =>
  text.replace(/^(?!\s*#)(.*\S)[ \t]*$/gm, (line, _all, at: number) =>
    /["'|>]{3}|[|>]$/.test(line) ? line : `${line} # c${at}`,
  )

const ODD: readonly (readonly [name: string, syntaxes: string, odd: (text: string) => string])[] = [
  ['CRLF', 'jsonc toml yaml', text => text.replaceAll('\n', '\r\n')],
  ['a byte order mark', 'jsonc toml yaml', text => BOM + text],
  ['both', 'jsonc toml yaml', text => BOM + text.replaceAll('\n', '\r\n')],
  ['tabs', 'jsonc toml', text => text.replace(/^ +/gm, spaces => '\t'.repeat(Math.ceil(spaces.length / 2)))],
  ['no last line break', 'jsonc toml yaml', text => text.trimEnd()],
  ['blank lines', 'jsonc toml yaml', text => text.replaceAll('\n', '\n\n')],
  ['white space at line ends', 'jsonc toml', text => text.replace(/\n/g, '  \n')],
  ['one line', 'jsonc', text => withoutComments(text).replace(/\s*\n\s*/g, '')],
  ['comments in every place', 'jsonc', stuffed],
  ['comments at line ends', 'toml yaml', commented],
  ['trailing commas', 'jsonc', trailing],
]

const commentsOf = (text: string): readonly string[] =>
  (text.match(/\/\*.*?\*\/|\/\/ .*$|# .*$/gm) ?? []).map(comment => comment.trimEnd())

/** One client of each way to write servers; all others write theirs as one of these does. */
const WAYS = ['claude-code', 'cursor', 'zed', 'opencode', 'codex', 'continue', 'librechat', 'goose']

t.test('files of clients are edited and restored, however they are written', async t => {
  for (const client of WAYS.map(clientOf)) {
    for (const [name, syntaxes, odd] of ODD) {
      if (!syntaxes.includes(client.syntax)) continue
      const title = `${client.id}: ${name}`
      const before = odd(golden(client))
      const { install, undo, read, members, file } = clientWith(t, client, before)
      const old = await members()
      await install()
      const after = await members()
      t.ok(after.has(KEY), `${title}: ours is there`)
      for (const [other, value] of old) t.same(after.get(other), value, `${title}: ${other} is as it was`)
      t.same(
        commentsOf(before).filter(comment => !read().includes(comment)),
        [],
        `${title}: all comments stay`,
      )
      if (before.includes('\r\n')) t.notMatch(read(), /[^\r]\n/, `${title}: no other line ends`)
      t.equal(read().startsWith(BOM), before.startsWith(BOM), title)
      t.equal(await install(), 0, `${title}: a second time changes nothing`)
      await undo()
      t.equal(read(), before, `${title}: undone byte for byte`)
      await install(true)
      t.same([...(await members()).keys()], [KEY], `${title}: taken over`)
      await undo()
      t.equal(read(), before, `${title}: take-over undone byte for byte`)
      await install(true)
      // Somebody else writes the file: what was taken comes back all the same.
      writeFileSync(file, `${read()}${client.syntax === 'jsonc' ? ' ' : '\n'}`)
      await undo()
      t.same(await members(), old, `${title}: what was taken is back`)
    }
  }
})

t.test('a file of five megabytes is edited in place', async t => {
  const more = Array.from(
    { length: 50_000 },
    (_, at) => `    "project${at}": { "history": ["${'x'.repeat(80)}"] }`,
  )
  const before = `{\n  "projects": {\n${more.join(',\n')}\n  },\n  "mcpServers": {\n    "db": { "command": "x" }\n  }\n}\n`
  t.ok(before.length > 5_000_000)
  const { install, undo, read } = clientWith(t, clientOf('claude-code'), before)
  await install(true)
  t.ok(read().length > 5_000_000)
  t.match(read().slice(-300), /"mcp-proxy": \{/)
  await undo()
  t.ok(read() === before, 'byte for byte')
})

t.test('many servers and long comments are supported', async t => {
  const comments = '# a line\n'.repeat(20_000)
  const tables = Array.from({ length: 2_000 }, (_, at) => `[mcp_servers.db${at}]\ncommand = "x"\n`)
  const entries = Array.from({ length: 2_000 }, (_, at) => `  db${at}:\n    command: x\n`)
  for (const [id, before] of [
    ['codex', `${comments}${tables.join('')}${comments}`],
    ['librechat', `${comments}mcpServers:\n${entries.join('')}${comments}`],
  ] as const) {
    const { install, undo, read } = clientWith(t, clientOf(id), before)
    await install()
    t.equal(read().length - before.length < 500, true, id)
    await undo()
    t.ok(read() === before, `${id}: byte for byte`)
  }
})

t.test('what cannot be edited is refused with its place, and stays', async t => {
  for (const [id, text, says] of [
    [
      'cursor',
      '{\n  "mcpServers": { "a": {} },\n  "mcpServers": {}\n}',
      /mcp\.json:3: the key "mcpServers" stands here a second/,
    ],
    ['cursor', '{ "mcpServers": { "a": { "command": "x", "command": "y" } } }', /mcp\.json:1: the key/],
    ['cursor', '{ "mcpServers": [] }', /mcp\.json/],
    ['cursor', '{ "mcpServers": { "a": ', /mcp\.json:1: expected/],
    ['cursor', '"text"', /mcp\.json/],
    ['codex', 'mcp_servers = { db = { command = "x" } }\n', /config\.toml:1: only tables/],
    ['codex', '[mcp_servers.a]\ncommand = "x"\n[mcp_servers.a]\n', /config\.toml:3: this is not TOML/],
    ['goose', 'extensions: { db: { cmd: x } }\n', /config\.yaml:1: a map or list in braces/],
    ['goose', 'extensions:\n  a:\n    cmd: x\n  a:\n    cmd: y\n', /config\.yaml:4: a key stands here/],
    ['continue', 'mcpServers: 7\n', /config\.yaml:1: a map or a list was expected/],
  ] as const) {
    const { install, read } = clientWith(t, clientOf(id), text)
    await t.rejects(install(), { name: 'SetupError', message: says }, text)
    t.equal(read(), text)
  }
})

t.test('a read-only file is refused, and rights stay as they were', { skip: isWindows }, async t => {
  const before = golden(clientOf('cursor'))
  const { file, install, undo, read } = clientWith(t, clientOf('cursor'), before)
  chmodSync(file, 0o444)
  await t.rejects(install(), { message: /read-only/ })
  t.equal(read(), before)
  for (const mode of [0o640, 0o600]) {
    chmodSync(file, mode)
    await install(true)
    t.equal(statSync(file).mode & 0o777, mode)
    await undo()
    t.equal(statSync(file).mode & 0o777, mode)
    t.equal(read(), before)
  }
})
