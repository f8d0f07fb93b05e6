import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { readInstallation } from '../../../src/doctor/look/installation.js'
import { skipWithout } from '../../support/processes.js'

const manifest = (name: string, version = '1.0.0') => ({ 'package.json': JSON.stringify({ name, version }) })
const bin = () => ({
  ...{ 'package.json': '{"type":"commonjs"}', 'mcp-proxy.js': '', 'connect.cjs': '', 'parts.cjs': '' },
})
const dist = () => ({ cli: { 'main.cjs': '' }, 'index.js': '' })

t.test(
  'missing files, other versions and other programs of our name are found',
  { skip: skipWithout.links },
  async t => {
    const root = t.testdir({
      ours: { ...manifest('mcp-proxy-daemon'), bin: bin(), dist: dist() },
      torn: { ...manifest('mcp-proxy-daemon', '0.9.0'), bin: bin() },
      theirs: { ...manifest('mcp-proxy'), 'cli.js': '' },
      plain: { 'mcp-proxy': '' },
      one: {},
      two: {},
      win: { 'mcp-proxy.cmd': '', node_modules: { 'mcp-proxy-daemon': manifest('mcp-proxy-daemon') } },
    })
    const at = (...parts: string[]): string => join(root, ...parts)
    symlinkSync(at('ours', 'bin', 'mcp-proxy.js'), at('one', 'mcp-proxy'))
    symlinkSync(at('theirs', 'cli.js'), at('two', 'mcp-proxy'))
    const installed = {
      version: '1.0.0',
      folder: at('ours'),
      state: at('state', 'mcp-proxy'),
      path: [at('one'), '', at('one'), at('two'), at('plain')].join(delimiter),
      platform: 'linux',
      node: 'v20.19.0',
      uid: process.getuid?.(),
    } as const
    const found = readInstallation(installed)
    t.match(found, {
      node: 'v20.19.0',
      damaged: [],
      state: { mode: undefined, isOurs: true, isWritable: true },
    })
    t.match(found.onPath, [
      { path: at('one', 'mcp-proxy'), folder: at('ours'), package: 'mcp-proxy-daemon' },
      { path: at('two', 'mcp-proxy'), package: 'mcp-proxy' },
      { path: at('plain', 'mcp-proxy') },
    ])
    t.equal(found.onPath.length, 3)
    t.same(readInstallation({ ...installed, folder: at('torn') }).damaged, [
      'dist/cli/main.cjs is missing',
      'dist/index.js is missing',
      'package.json is of another version',
    ])
    const windows = readInstallation({ ...installed, platform: 'win32', path: at('win') })
    t.match(windows.onPath, [
      { package: 'mcp-proxy-daemon', folder: at('win', 'node_modules', 'mcp-proxy-daemon') },
    ])
  },
)

t.test('the folder of state is looked at as it is', { skip: skipWithout.links }, async t => {
  const root = t.testdir({ file: '' })
  const look = (state: string, uid = process.getuid?.()) =>
    readInstallation({ version: '1', folder: root, state, path: '', platform: 'linux', node: 'v20', uid })
      .state
  const folder = join(root, 'state')
  mkdirSync(folder)
  chmodSync(folder, 0o755)
  t.match(look(folder), { mode: 0o755, isOurs: true, isWritable: true })
  t.ok((look(folder).freeBytes ?? 0) > 0)
  t.match(look(folder, 4242), { isOurs: false })
  symlinkSync(folder, join(root, 'link'))
  t.match(look(join(root, 'link')), { isOurs: false })
  t.match(look(join(root, 'file')), { isOurs: false })
})

t.test('a folder of state below a file cannot be written', async t => {
  const root = t.testdir({ file: '' })
  for (const state of [join(root, 'file', 'mcp-proxy'), join(root, 'file', 'a', 'b')]) {
    const options = { version: '1.0.0', folder: root, path: '', platform: 'linux', node: 'v20.19.0' } as const
    const found = readInstallation({ ...options, state, uid: process.getuid?.() })
    t.match(found, { state: { path: state, isOurs: true, isWritable: false } }, state)
  }
})
