import t from 'tap'
import { readNumbers } from '../../../../src/cli/shared/output/ask.js'
import { hasUtf8 } from '../../../../src/cli/shared/output/signs.js'
import { columnsOf, hasColor } from '../../../../src/cli/shared/output/terminal.js'

t.test('numbers of a list are read as people write them', t => {
  for (const [answer, found] of [
    ['1', [0]],
    ['1 3', [0, 2]],
    ['3,1 , 3', [2, 0]],
    ['', undefined],
    ['0', undefined],
    ['4', undefined],
    ['1 x', undefined],
    ['1-3', undefined],
    ['99999999999999999999', undefined],
  ] as const) {
    t.same(readNumbers(answer, 3), found, answer)
  }
  t.end()
})

t.test('colours follow NO_COLOR, then FORCE_COLOR, then the terminal', t => {
  for (const [isTTY, env, is] of [
    [true, {}, true],
    [false, {}, false],
    [undefined, {}, false],
    [true, { TERM: 'dumb' }, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [false, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ] as const) {
    t.equal(hasColor(isTTY === undefined ? {} : { isTTY }, env), is, JSON.stringify([isTTY, env]))
  }
  t.end()
})

t.test('signs beyond ASCII are shown where the locale has them', t => {
  for (const [env, platform, is] of [
    [{ LANG: 'en_US.UTF-8' }, 'linux', true],
    [{ LANG: 'C' }, 'linux', false],
    [{ LANG: 'en_US.utf8', LC_ALL: 'C' }, 'linux', false],
    [{ LC_CTYPE: 'UTF-8', LC_ALL: '' }, 'darwin', true],
    [{}, 'linux', false],
    [{}, 'darwin', true],
    [{}, 'win32', false],
    [{ WT_SESSION: 'x' }, 'win32', true],
  ] as const) {
    t.equal(hasUtf8(env, platform), is, JSON.stringify([env, platform]))
  }
  t.end()
})

t.test('a terminal of unknown width gets the default width', t => {
  t.equal(columnsOf({ columns: 0 }), 80)
  t.equal(columnsOf({ columns: 120 }), 120)
  t.end()
})
