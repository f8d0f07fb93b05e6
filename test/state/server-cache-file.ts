import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { CachedServer, ServerSnapshot } from '../../src/catalog/lists/profile-cache.js'
import { rawText } from '../../src/kernel/json/text.js'
import {
  CACHE_FILE_BYTES,
  cacheFolder,
  decodeServer,
  encodeServer,
  readCacheFile,
  touchCacheFile,
  writeCacheFile,
} from '../../src/state/server-cache-file.js'
import { isWindows } from '../support/processes.js'

const SAID: ServerSnapshot = {
  facts: {
    revision: '2025-11-25',
    capabilities: {
      tools: { listChanged: true },
      prompts: undefined,
      resources: { listChanged: false, subscribe: true },
      completions: true,
      logging: false,
      tasks: false,
    },
    announced: rawText('{"tools":{"listChanged":true},"x":1.0}'),
    info: rawText('{"name":"x","n":1.0}'),
    instructions: 'Use it.',
  },
  lists: {
    tools: [rawText('{"name":"a","max":12345678901234567890,"x":1e400}'), rawText('{ "name" : "b" }')],
    resources: [],
  },
}
const KNOWN: CachedServer = new Map([['pushed', SAID]])

t.test('what a server sent is in its file byte for byte', async t => {
  const text = encodeServer(KNOWN).toString()
  t.match(text, '"max":12345678901234567890,"x":1e400')
  const read = decodeServer(Buffer.from(text))?.get('pushed')
  t.same(read?.facts, SAID.facts)
  t.same(
    read?.lists.tools?.map(item => item.toString()),
    SAID.lists.tools?.map(item => item.toString()),
  )
  t.same(read?.lists.resources, [])
  t.equal(read?.lists.prompts, undefined)
  const { instructions: _, ...mute } = SAID.facts
  t.equal(
    decodeServer(
      encodeServer(new Map([['x', { facts: { ...mute, instructions: undefined }, lists: {} }]])),
    )?.get('x')?.facts.instructions,
    undefined,
  )
})

t.test('what a server sent to all alike is in its file once', async t => {
  const other: ServerSnapshot = { ...SAID, lists: { tools: [] } }
  const text = encodeServer(
    new Map([
      ['a', SAID],
      ['b', other],
      ['c', { ...SAID }],
    ]),
  )
  t.equal(text.toString().split('"max":').length, 2)
  const read = decodeServer(text)
  t.same([...(read?.keys() ?? [])], ['a', 'c', 'b'])
  t.equal(read?.get('a'), read?.get('c'))
  t.same(read?.get('b')?.lists, { tools: [] })
})

t.test('what is broken, or of another version, is nothing', async t => {
  const text = encodeServer(KNOWN).toString()
  for (const broken of [
    '',
    'null',
    '[]',
    '{}',
    text.slice(0, -1),
    text.replace('"format":3', '"format":1'),
    text.replace('"format":3', '"format":"2"'),
    text.replace('2025-11-25', '2099-01-01'),
    text.replace('"revision"', '"x"'),
    text.replace('"info"', '"x"'),
    text.replace('"announced"', '"x"'),
    text.replace('"capabilities"', '"x"'),
    text.replace('"lists"', '"x"'),
    text.replace(/"lists":.*/, '"lists":[]}}]}'),
  ]) {
    t.equal(decodeServer(Buffer.from(broken)), undefined, broken.slice(0, 40))
  }
  t.equal(decodeServer(Buffer.from([0xff, 0x00])), undefined)
  t.same(
    decodeServer(Buffer.from(text.replace(/"lists":.*/, '"lists":{"tools":7}}}]}')))?.get('pushed')?.lists,
    {},
  )
})

t.test('a file is private to its user, and is trusted only if no other user could write it', async t => {
  const folder = cacheFolder(join(t.testdir(), 'state'))
  t.equal(readCacheFile(folder, 'a'), undefined, 'there is none')
  await writeCacheFile(folder, 'a', Buffer.from('one'))
  await writeCacheFile(folder, 'a', Buffer.from('two'))
  t.equal(readCacheFile(folder, 'a')?.toString(), 'two')
  t.same(readdirSync(folder), ['a.json'], 'no draft is left')
  if (isWindows) return
  t.equal(statSync(join(folder, 'a.json')).mode & 0o777, 0o600)
  t.equal(statSync(folder).mode & 0o777, 0o700)
  symlinkSync(join(folder, 'a.json'), join(folder, 'link.json'))
  t.equal(readCacheFile(folder, 'link'), undefined)
  mkdirSync(join(folder, 'dir.json'))
  t.equal(readCacheFile(folder, 'dir'), undefined)
  chmodSync(join(folder, 'a.json'), 0o620)
  t.equal(readCacheFile(folder, 'a'), undefined, 'its group could write it')
  chmodSync(join(folder, 'a.json'), 0o600)
  chmodSync(folder, 0o777)
  t.equal(readCacheFile(folder, 'a'), undefined, 'anybody could put a file there')
  chmodSync(folder, 0o700)
  t.equal(readCacheFile(folder, 'a')?.toString(), 'two')
  writeFileSync(join(folder, 'big.json'), Buffer.alloc(CACHE_FILE_BYTES + 1, ' '), { mode: 0o600 })
  t.equal(readCacheFile(folder, 'big'), undefined)
})

t.test('of too many files, the least recently used are removed', async t => {
  const folder = cacheFolder(t.testdir())
  await writeCacheFile(folder, 'first', Buffer.from('x'))
  for (let n = 0; n < 499; n += 1) {
    const file = join(folder, `f${n}.json`)
    writeFileSync(file, '')
    utimesSync(file, 1_700_000_000 + n, 1_700_000_000 + n)
  }
  utimesSync(join(folder, 'first.json'), 1, 1)
  await touchCacheFile(folder, 'first')
  await writeCacheFile(folder, 'last', Buffer.from('x'))
  const names = readdirSync(folder)
  t.equal(names.length, 500)
  t.ok(['first.json', 'last.json', 'f1.json'].every(name => names.includes(name)))
  t.notOk(names.includes('f0.json'))
})

t.test('a folder that cannot be made is told', async t => {
  const dir = t.testdir({ file: '' })
  await t.rejects(writeCacheFile(join(dir, 'file', 'known'), 'a', Buffer.from('x')), { code: 'ENOTDIR' })
  await t.rejects(touchCacheFile(dir, 'none'), { code: 'ENOENT' })
})
