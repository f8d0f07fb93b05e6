import { chmodSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t from 'tap'
import { findProgram, searchedWords } from '../../../src/doctor/look/programs.js'
import { skipWithout } from '../../support/processes.js'

t.test('a program is found as a shell would find it', { skip: skipWithout.modes }, async t => {
  const cwd = t.testdir({ one: { plain: '' }, two: { tool: '', plain: '', folder: {} } })
  chmodSync(join(cwd, 'two', 'tool'), 0o755)
  chmodSync(join(cwd, 'two', 'plain'), 0o644)
  const path = [join(cwd, 'one'), '', join(cwd, 'two')].join(delimiter)
  const search = { path, extensions: '', platform: 'linux', cwd } as const
  const tool = join(cwd, 'two', 'tool')
  t.equal(findProgram('tool', search), tool)
  t.equal(findProgram('./two/tool', search), tool)
  t.equal(findProgram(tool, search), tool)
  for (const command of ['plain', 'folder', 'gone', join(cwd, 'gone'), './one/tool'])
    t.equal(findProgram(command, search), undefined, command)
})

t.test('on Windows, the extensions of PATHEXT are tried', { skip: skipWithout.modes }, async t => {
  const cwd = t.testdir({ 'npx.CMD': '' })
  chmodSync(join(cwd, 'npx.CMD'), 0o755)
  const search = { path: cwd, extensions: '.EXE;.CMD', platform: 'win32', cwd } as const
  t.equal(findProgram('npx', search), join(cwd, 'npx.CMD'))
})

t.test('where a program was looked for is said in few words', async t => {
  const search = { path: '', extensions: '', platform: 'linux', cwd: '/p' } as const
  t.equal(searchedWords('tool', search), 'PATH is empty')
  t.equal(
    searchedWords('tool', { ...search, path: ['/a', '/b'].join(delimiter) }),
    `PATH is /a${delimiter}/b`,
  )
  const many = Array.from({ length: 14 }, (_, index) => `/${index}`).join(delimiter)
  t.match(searchedWords('tool', { ...search, path: many }), /\/11 and 2 more folders$/)
  t.match(searchedWords('/x/tool', search), /no such file/)
  t.match(searchedWords('./tool', search), /in \/p$/)
})
