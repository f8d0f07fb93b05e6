import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { formatProblem } from '../../src/config/file/problem.js'
import { loadConfig } from '../../src/config/load.js'
import { isWindows, skipWithout } from '../support/processes.js'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

t.test('a file is read with the folder that it lies in', async t => {
  const dir = t.testdir({ 'mcp.json': '{ "mcpServers": { "a": { "command": "x", "cwd": "../y" } } }' })
  const { config, problems } = await loadConfig(join(dir, 'mcp.json'), {})
  t.strictSame(problems, [])
  t.match(config?.servers[0]?.transport, { cwd: resolve(dir, '../y') })
})

t.test('a file that cannot be read is told like any other problem', async t => {
  const dir = t.testdir({
    folder: {},
    file: '{}',
    latin: Buffer.from('{ "a": "\xe4" }', 'latin1'),
    utf16: Buffer.from('\uFEFF{}', 'utf16le'),
    long: ' '.repeat(4 * 1024 * 1024 + 1),
  })
  const table: Record<string, string> = {
    missing: 'there is no such file. Check the path, or create the file.',
    folder: 'this is a folder, not a file. Give the path of the file in it.',
    latin: 'the file is not text in UTF-8. Save it as UTF-8.',
    utf16: 'the file is not text in UTF-8. Save it as UTF-8.',
    long: 'the file is longer than 4 MiB. Check that this is the right file.',
    'nul\0': 'the file cannot be read (ERR_INVALID_ARG_VALUE). Check the path and the disk.',
    // Windows says of both that there is no such file.
    ...(!isWindows && {
      'file/x': 'part of the path is not a folder. Check the path.',
      ['x'.repeat(300)]: 'the file cannot be read (ENAMETOOLONG). Check the path and the disk.',
    }),
  }
  for (const [name, expected] of Object.entries(table)) {
    const file = join(dir, name)
    const { config, problems, disabled } = await loadConfig(file, {})
    t.strictSame([config, disabled], [undefined, []], name)
    t.match(problems, [{ severity: 'error', file, line: 0, column: 0, key: '' }], name)
    t.strictSame(problems.map(formatProblem), [`${file.replace('\0', '\\u0000')}: error: ${expected}`], name)
  }
})

t.test('a file without read permission is reported', { skip: skipWithout.mocks }, async t => {
  // Mocked, because the superuser may read everything.
  const stat = () => Promise.reject(Object.assign(new Error('no'), { code: 'EACCES' }))
  const readFile = () => Promise.reject(new Error('not asked'))
  const mocked = await t.mockImport<typeof import('../../src/config/load.js')>('../../src/config/load.js', {
    'node:fs/promises': { stat, readFile },
  })
  t.strictSame((await mocked.loadConfig('f', {})).problems.map(formatProblem), [
    'f: error: the file may not be read. Give the user of the proxy the right to read it.',
  ])
})

t.test('the example loads without a problem and names programs that are there', async t => {
  const { config, problems, disabled } = await loadConfig(join(root, 'mcp-proxy.example.json'), {})
  t.strictSame([problems, disabled], [[], []])
  t.strictSame(
    config?.servers.map(s => s.name),
    ['everything', 'files', 'memory', 'everything-http'],
  )
  for (const { name, transport } of config?.servers ?? []) {
    if (transport.kind !== 'stdio') t.match(transport, { kind: 'auto', url: 'http://127.0.0.1:3101/mcp' })
    else t.ok(existsSync(resolve(transport.cwd ?? '', transport.args[0] ?? '')), name)
  }
})

t.test('a problem cannot write control sequences to a terminal', async t => {
  const line = formatProblem({
    severity: 'warning',
    file: 'f',
    line: 2,
    column: 3,
    key: 'a\u001b[2J\nb',
    message: 'm',
    fix: 'M.',
  })
  t.equal(line, 'f:2:3: warning: a\\u001b[2J\\u000ab: m. M.')
})
