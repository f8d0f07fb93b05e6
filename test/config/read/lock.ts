import { join } from 'node:path'
import t from 'tap'
import { filesOf, parseConfig, parseWithoutLock } from '../../../src/config/parse.js'

t.test('what "lock" may say is a table, and every mistake makes the file unusable', async t => {
  const dir = t.testdir({ 'mcp.lock.json': '{"version":1,"servers":{}}' })
  const file = join(dir, 'mcp.lock.json')
  const read = (lock: unknown, parse = parseConfig) =>
    parse(JSON.stringify({ mcpServers: { a: { command: 'a' } }, lock }), join(dir, 'mcp.json'), {})
  const usual = { file, onChange: 'warn', onNew: 'warn', servers: ['*'], ignore: [] }
  t.match(read('mcp.lock.json').config?.lock, usual)
  t.match(read({ file: 'mcp.lock.json', onChange: 'ask', ignore: ['/servers/*/tools/a~1b'] }).config?.lock, {
    ...usual,
    ...{ onChange: 'ask', onNew: 'hide', ignore: [['servers', '*', 'tools', 'a/b']] },
  })
  t.match(read({ file: 'mcp.lock.json', onChange: 'hide', onNew: 'warn' }).config?.lock, { onNew: 'warn' })
  const mistakes = [
    ...[true, '', {}, 'none.json', { file: '.' }],
    { file: 'mcp.lock.json', onchange: 'hide' },
    { file: 'mcp.lock.json', onChange: 'deny' },
    { file: 'mcp.lock.json', ignore: ['servers'] },
    { file: 'mcp.lock.json', servers: 'shop' },
  ]
  for (const lock of mistakes) {
    const { config, problems } = read(lock)
    t.equal(config, undefined, JSON.stringify(lock))
    t.match(problems, [{ severity: 'error', key: /^lock/ }], JSON.stringify(lock))
  }
  t.ok(filesOf(read('none.json')).includes(join(dir, 'none.json')), 'a missing file is watched')
  t.match(read('none.json', parseWithoutLock).config?.lock, { file: join(dir, 'none.json') })
  const { config } = parseConfig(JSON.stringify({ mcpServers: {}, locks: file }), join(dir, 'mcp.json'), {})
  t.equal(config, undefined, 'a misspelled key')
})
