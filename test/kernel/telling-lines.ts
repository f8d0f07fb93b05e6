import t from 'tap'
import { tellingLines } from '../../src/kernel/telling-lines.js'

t.test('the lines that say why a program ended are kept, and those that say where are not', async t => {
  const lines = [
    '/srv/server.mjs:3',
    'const x = = 1',
    '          ^',
    '',
    'SyntaxError: Unexpected token',
    '    at wrapSafe (node:internal/modules/cjs/loader:1378:20)',
    '    at node:internal/main/run_main_module:28:49',
    '',
    'Node.js v20.20.2',
  ]
  t.same(tellingLines(lines, 2), ['const x = = 1', 'SyntaxError: Unexpected token'])
  t.same(tellingLines(['    at x (y.js:1:2)'], 5), ['at x (y.js:1:2)'], 'unless there is nothing else')
  t.same(tellingLines(['\u001b[31mred\u001b[0m\rline'], 5), ['red line'])
})
