import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { permanentShim } from '../../../src/cli/shared/stable-paths.js'
import { isWindows } from '../../support/processes.js'
import { setEnv } from '../../support/proxy/start.js'

const CACHED = join('/home', '.npm', '_npx', 'a1b2', 'node_modules', 'mcp-proxy-daemon', 'bin', 'connect.cjs')

/** Puts an npm of ours before that of this machine, and returns a reader of what it was asked. */
const fakeNpm = (t: Test, code = 0, prefix = t.testdirName) => {
  const folder = t.testdir()
  const notes = join(folder, 'notes')
  const npm = join(folder, 'npm')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    npm,
    `#!/bin/sh\necho "$* $npm_config_prefix" >> '${notes}'\n[ "$1" = root ] && echo /usr/lib/node_modules\n[ "$1" = prefix ] && echo '${prefix}'\nexit ${code}\n`,
  )
  chmodSync(npm, 0o755)
  setEnv(t, { PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}`, npm_config_prefix: '/cache/of/npx' })
  t.capture(process.stderr, 'write', () => true)
  return () => readFileSync(notes, 'utf8')
}

t.test('clients start the installed copy', async t => {
  t.match(await permanentShim(false), /bin.connect\.cjs$/)
})

t.test('from the cache of npx nothing is written unless its user agrees', async t => {
  await t.rejects(permanentShim(false, CACHED), { message: /runs from the cache of npx/, code: 2 })
})

t.test(
  'a user who agrees gets an installation, and clients the shim of that',
  { skip: isWindows },
  async t => {
    const notes = fakeNpm(t)
    t.equal(await permanentShim(true, CACHED), '/usr/lib/node_modules/mcp-proxy-daemon/bin/connect.cjs')
    t.match(
      notes(),
      `prefix -g \ni -g --no-audit --no-fund --ignore-scripts --install-links ${dirname(dirname(CACHED))} \nroot -g \n`,
      'from the copy in the cache, not from the registry',
    )
  },
)

t.test('an installation that fails leaves everything as it was', { skip: isWindows }, async t => {
  const notes = fakeNpm(t, 1)
  await t.rejects(permanentShim(true, CACHED), { message: /nothing was written/ })
  t.match(notes(), /^prefix -g .*\n$/)
})

t.test(
  'where only root may write the user gets it in a folder of their own',
  { skip: isWindows },
  async t => {
    const notes = fakeNpm(t, 0, '/no/such/prefix')
    const home = join(t.testdirName, 'home')
    setEnv(t, { HOME: home })
    await permanentShim(true, CACHED)
    t.match(notes(), `i -g --prefix ${home}/.local --no-audit --no-fund --ignore-scripts --install-links `)
    t.match(notes(), `root -g --prefix ${home}/.local `)
  },
)

t.test('what npx got as a file is installed from there', { skip: isWindows }, async t => {
  const notes = fakeNpm(t)
  const cache = join(t.testdirName, '_npx', 'a1b2')
  mkdirSync(cache, { recursive: true })
  writeFileSync(join(cache, 'package.json'), '{"dependencies":{"mcp-proxy-daemon":"file:../../ours.tgz"}}')
  await permanentShim(true, join(cache, 'node_modules', 'mcp-proxy-daemon', 'bin', 'connect.cjs'))
  t.match(notes(), `i -g --no-audit --no-fund ${t.testdirName}/ours.tgz \n`)
})
