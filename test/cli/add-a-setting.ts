import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import t from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** A copy of the sources in which `text` is inserted after the first `place` of a file of the schema. */
const copyWith = (file: string, place: string, text: string): string => {
  const copy = mkdtempSync(join(tmpdir(), 'mcp-setting-'))
  for (const name of ['src', 'bin', 'docs', 'config', 'package.json', 'README.md'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  for (const name of ['dist', 'test']) mkdirSync(join(copy, name))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'dir')
  const path = join(copy, 'src/config/schema', file)
  const before = readFileSync(path, 'utf8')
  writeFileSync(path, before.replace(place, `${place}\n${text}`))
  return copy
}

/** Loads the reader of files and the diff of a copy. */
const loadConfigRoom = async (copy: string) => {
  const outfile = join(copy, 'config-room.mjs')
  const contents = `export { parseConfig } from './src/config/parse.ts'; export { diffConfigs } from './src/config/diff.ts'`
  await build({
    stdin: { contents, resolveDir: copy },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    logLevel: 'error',
  })
  return (await import(pathToFileURL(outfile).href)) as {
    readonly parseConfig: typeof import('../../src/config/parse.js').parseConfig
    readonly diffConfigs: typeof import('../../src/config/diff.js').diffConfigs
  }
}

const TABLE = [
  {
    what: 'a flag of a server',
    file: 'server.ts',
    place: 'const own = {',
    text: `polite: plain(flag(), { description: 'Say please.', default: false, reload: 'retuned' }),`,
    type: 'readonly polite: boolean',
    row: '| `polite` | boolean | `false` | live | Say please. |',
    file1: { mcpServers: { a: { command: 'x' } } },
    file2: { mcpServers: { a: { command: 'x', polite: true } } },
    typo: { mcpServers: { a: { command: 'x', polit: true } } },
    valueOf: { servers: [{ polite: false }] },
    diff: { retuned: ['a'] },
  },
  {
    what: 'a duration of the proxy',
    file: 'schema.ts',
    place: 'export const settings = z.object({',
    text: `politeness: plain(waitTime(), { description: 'Wait politely.', default: '2s', reload: 'restart' }),`,
    type: 'readonly politenessMs: number',
    row: '| `politeness` | duration | `"2s"` | restart | Wait politely. |',
    file1: { mcpServers: { a: { command: 'x' } } },
    file2: { mcpServers: { a: { command: 'x' } }, politeness: '3s' },
    typo: { mcpServers: { a: { command: 'x' } }, politenes: '3s' },
    valueOf: { politenessMs: 2000 },
    diff: { needRestart: ['politeness'] },
  },
] as const

for (const row of TABLE) {
  t.test(`${row.what} is added in one place`, async t => {
    const copy = copyWith(row.file, row.place, row.text)
    t.teardown(() => rmSync(copy, { recursive: true, force: true }))
    for (const script of ['write-schema', 'write-docs'])
      await run(process.execPath, [`bin/${script}.mjs`], { cwd: copy })
    const [, key = ''] = /^(\w+):/.exec(row.text) ?? []
    const textOf = (path: string): string => readFileSync(join(copy, path), 'utf8')
    t.match(textOf('config/mcp-proxy.schema.json'), `"${key}": {`, 'schema')
    t.match(textOf('src/config/schema/settings.generated.ts'), row.type, 'type')
    t.ok(textOf('docs/configuration.md').includes(row.row), 'docs')
    const { parseConfig, diffConfigs } = await loadConfigRoom(copy)
    const read = (file: object) => parseConfig(JSON.stringify(file), '/x/mcp.json', {})
    const [before, after] = [read(row.file1), read(row.file2)]
    t.strictSame([before.problems, after.problems], [[], []], 'check accepts it')
    t.match(read(row.typo).problems, [{ fix: `Did you mean "${key}"?` }], 'check suggests it')
    t.match(before.config, row.valueOf, 'default')
    if (before.config === undefined || after.config === undefined) throw new Error('no configuration')
    t.match(diffConfigs(before.config, after.config), row.diff, 'reload')
  })
}
