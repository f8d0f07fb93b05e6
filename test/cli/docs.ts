import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('the generated docs and the list of messages match the code', async t => {
  const check = promisify(execFile)(process.execPath, ['bin/write-docs.mjs', '--check'], { cwd: root })
  await t.resolves(check, 'npm run docs writes them')
})
