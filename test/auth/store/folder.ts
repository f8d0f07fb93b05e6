import { chmodSync, chownSync, existsSync, mkdirSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openCredentials } from '../../../src/auth/store/files.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { skipWithout } from '../../support/processes.js'
import { recordOf } from '../../support/sign-in.js'

const open = (stateDir: string) => openCredentials(stateDir, { kind: 'file', log: silentLogger })
const modeOf = (folder: string): number => statSync(folder).mode & 0o777

t.test(
  'a folder of logins that others can change is denied to them',
  { skip: skipWithout.modes },
  async t => {
    const stateDir = t.testdir()
    const folder = join(stateDir, 'credentials')
    mkdirSync(folder)
    for (const mode of [0o777, 0o770, 0o755]) {
      chmodSync(folder, mode)
      const store = await open(stateDir)
      t.equal(modeOf(folder), 0o700, mode.toString(8))
      store.save(recordOf())
    }
  },
)

t.test('so is a folder behind a link', { skip: skipWithout.modes }, async t => {
  const stateDir = t.testdir({ elsewhere: {} })
  chmodSync(join(stateDir, 'elsewhere'), 0o777)
  symlinkSync(join(stateDir, 'elsewhere'), join(stateDir, 'credentials'))
  await open(stateDir)
  t.equal(modeOf(join(stateDir, 'elsewhere')), 0o700)
})

const isRoot = process.getuid?.() === 0

t.test('a folder of another user is not used', { skip: !isRoot && 'only root can make one' }, async t => {
  const stateDir = t.testdir({ elsewhere: {} })
  const elsewhere = join(stateDir, 'elsewhere')
  chownSync(elsewhere, 12_345, 12_345)
  symlinkSync(elsewhere, join(stateDir, 'credentials'))
  await t.rejects(open(stateDir), { message: /logins are not kept in .*credentials.*chown.*elsewhere/ })
})

t.test('without a folder, cleaning up does nothing', async t => {
  const stateDir = t.testdir()
  await open(stateDir)
  t.notOk(existsSync(join(stateDir, 'credentials')))
})
