import t from 'tap'
import { homeFolder, whoAmI } from '../../../src/kernel/machine/who-am-i.js'
import { isWindows } from '../../support/processes.js'

const HOME = isWindows ? 'USERPROFILE' : 'HOME'
const KNOWN = { homedir: '/home/ann', username: 'ann', uid: 7, gid: 7, shell: '/bin/zsh' }

t.test('the user database decides who the user is', { skip: isWindows }, async t => {
  t.same(
    whoAmI({ HOME: '/elsewhere' }, () => KNOWN),
    { home: '/home/ann', name: 'ann', uid: 7, shell: '/bin/zsh' },
  )
})

t.test('a user missing from the user database has the home folder of the environment', async t => {
  const home = isWindows ? 'C:\\Users\\a' : '/data'
  const unknown = whoAmI({ [HOME]: home }, () => undefined)
  t.equal(unknown.home, home)
  t.equal(unknown.uid, process.getuid?.() ?? -1)
  t.equal(unknown.name, String(unknown.uid))
  t.equal(unknown.shell, undefined)
})

t.test(
  'without a home folder at all, it is the root folder and never the current one',
  { skip: isWindows },
  async t => {
    for (const value of [undefined, '', 'relative', './x'])
      t.equal(whoAmI({ HOME: value }, () => undefined).home, '/', String(value))
    t.equal(whoAmI({ HOME: '/h' }, () => ({ ...KNOWN, homedir: '' })).home, '/h')
  },
)

t.test('HOME counts only if it is absolute', { skip: isWindows }, async t => {
  const before = process.env['HOME']
  t.teardown(() => {
    if (before !== undefined) process.env['HOME'] = before
  })
  process.env['HOME'] = '/somewhere'
  t.equal(homeFolder(), '/somewhere')
  for (const value of ['', 'relative']) {
    process.env['HOME'] = value
    t.equal(homeFolder(), whoAmI().home)
    t.match(homeFolder(), /^\//)
  }
})
