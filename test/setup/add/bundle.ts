import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { strToU8, zipSync } from 'fflate'
import t from 'tap'
import { readBundle } from '../../../src/setup/add/bundle.js'

const manifest = (more: object = {}) => ({
  name: 'my tool',
  server: {
    mcp_config: {
      command: '${__dirname}/run',
      args: ['${user_config.dir}', '${HOME}'],
      env: { K: '${user_config.api_key}' },
    },
  },
  user_config: { dir: { default: '/d' }, api_key: { sensitive: true, default: 'never' } },
  ...more,
})

const zip = (files: Record<string, string>) =>
  zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])))

t.test('a bundle is unpacked, and its entry points to its files', async t => {
  const folder = t.testdir()
  const bytes = zip({ 'manifest.json': JSON.stringify(manifest()), run: '#!/bin/sh', 'lib/a.txt': 'a' })
  for (const _time of [1, 2]) {
    const { name, entry, inputs, unpack } = readBundle('a.mcpb', bytes, folder)
    t.equal(name, 'my tool')
    t.match(entry, { args: ['/d', '${userHome}'], env: { K: '${API_KEY}' } })
    t.same(inputs, ['API_KEY'])
    await unpack()
    t.equal(readFileSync(String(entry['command']), 'utf8'), '#!/bin/sh')
    t.equal(readFileSync(join(String(entry['command']), '..', 'lib/a.txt'), 'utf8'), 'a')
    if (process.platform !== 'win32') t.equal(statSync(String(entry['command'])).mode & 0o100, 0o100)
  }
})

t.test('a bundle that names its files without their folder runs in that folder', async t => {
  const folder = t.testdir()
  const config = { command: 'node', args: ['./server/index.js'] }
  const bytes = zip({
    'manifest.json': JSON.stringify({ server: { mcp_config: config } }),
    'server/index.js': '',
  })
  const { entry } = readBundle('a.mcpb', bytes, folder)
  t.match(entry, { ...config, cwd: new RegExp(`^${folder}/bundle-\\w+$`) })
})

t.test('a bundle that is none, or that reaches outside itself, is refused', async t => {
  const folder = t.testdir()
  t.throws(() => readBundle('a.mcpb', strToU8('nonsense'), folder), /a\.mcpb: this is not a bundle/)
  t.throws(() => readBundle('a.mcpb', zip({ a: 'b' }), folder), /manifest\.json is missing/)
  t.throws(() => readBundle('a.mcpb', zip({ 'manifest.json': '{}' }), folder), /names no command/)
  const outside = readBundle(
    'a.mcpb',
    zip({ 'manifest.json': JSON.stringify(manifest()), '../../x': 'y' }),
    folder,
  )
  await t.rejects(outside.unpack(), /outside itself/)
})

t.test('a bundle for another platform, or that says little, is read as far as it goes', async t => {
  const folder = t.testdir()
  const config = (mcp: object, more: object = {}) =>
    zip({ 'manifest.json': JSON.stringify({ server: { mcp_config: mcp }, ...more }) })
  const plain = readBundle('a.mcpb', config({ command: 'node' }), folder)
  t.match(plain, { name: 'bundle', inputs: [] })
  t.same(plain.entry, { command: 'node' })
  const overrides = { linux: { command: 'here' }, win32: { command: 'here' } }
  t.match(readBundle('a.mcpb', config({ command: 'there', platform_overrides: overrides }), folder).entry, {
    command: 'here',
  })
})
