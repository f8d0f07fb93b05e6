import { renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemDisk } from '../../../src/setup/files/disk.js'
import { openFile, readValue } from '../../../src/setup/files/edit-file.js'
import { until } from '../../support/processes.js'

const text = (name: string): string => JSON.stringify({ name, history: 'x'.repeat(300_000) })

t.test('a large file is read once, and again once it has changed', async t => {
  const file = join(t.testdir(), 'a.json')
  let reads = 0
  const disk = {
    ...systemDisk,
    readFile: async (path: string) => {
      reads += 1
      return await systemDisk.readFile(path)
    },
  }
  writeFileSync(file, text('one'))
  await until(() => Date.now() - statSync(file).ctimeMs > 200, 'the file to be older')
  t.match(await readValue({ disk }, file, 'jsonc'), { name: 'one' })
  const first = await openFile({ disk }, file, 'jsonc')
  const second = await openFile({ disk }, file, 'jsonc')
  t.equal(reads, 1)
  t.equal(first.value, second.value)
  const edits = first.edits([{ at: [], name: 'name', value: 'three' }])
  writeFileSync(file, text('two'))
  t.match(await readValue({ disk }, file, 'jsonc'), { name: 'two' }, 'of the same length')
  writeFileSync(`${file}.new`, text('ten'))
  renameSync(`${file}.new`, file)
  t.match((await openFile({ disk }, file, 'jsonc')).value, { name: 'ten' })
  t.equal(edits().toString(), text('three'), 'an edit is one of the text that was read')
})
