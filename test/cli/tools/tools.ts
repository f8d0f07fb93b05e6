import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { configFile, runHere, tiny } from '../../support/proxy/start.js'
import { toolRulesFile } from '../../support/proxy/tool-rules.js'

const start = (t: Test) => {
  const { file, ...rest } = toolRulesFile(t)
  return { ...rest, tools: (...words: string[]) => runHere(t, 'tools', ...words, '--config', file) }
}

t.test('tools that are disabled are written into tools.deny, and all comments stay', async t => {
  const { tools, text, before } = start(t)
  t.match(await tools('disable', 'g__echo', 'fig__say', 'fig__facts'), {
    code: 0,
    err: 'echo of gh is disabled\necho of fig is disabled\nfacts of fig is disabled\n',
  })
  t.match(text(), '"prefix": "g", "tools": { "deny": ["echo"] } }')
  t.match(
    text(),
    '          "fail", // fails\n          "ref*",\n          "echo",\n          "facts"\n        ],',
  )
  t.match(text(), '// all servers')
  const again = await tools('disable', 'fig__say')
  t.match(again, { code: 0, err: 'echo of fig is already disabled\n' })
  t.match(await tools('enable', 'fig__facts', 'fig__say'), { code: 0, err: /facts of fig is enabled/ })
  t.match(await tools('enable', 'g__echo'), { code: 0 })
  t.equal(text().replace(', "tools": { "deny": [] }', ''), before)
})

t.test('the list shows enabled and disabled tools of all servers, or of one', async t => {
  const { tools } = start(t)
  const { code, out } = await tools('--json')
  t.equal(code, 0)
  const rows = JSON.parse(out).tools as { name: string; server: string; state: string }[]
  const stateOf = (name: string) => rows.find(row => row.name === name)
  t.match(stateOf('g__echo'), { server: 'gh', state: 'enabled' })
  t.match(stateOf('fig__say'), { server: 'fig', state: 'enabled' })
  t.match(stateOf('fig__fail'), { server: 'fig', state: 'disabled' })
  t.match(stateOf('ref*'), { server: 'fig', state: 'disabled' })
  const one = await tools('few')
  t.match(one, { code: 0, out: /^TOOL +SERVER +STATE\nfew__echo +few +enabled$/m })
  t.match(await tools('fih'), { code: 2, err: /there is no server "fih"; did you mean fig\?/ })
})

t.test('what cannot be switched by its name is refused with the fix, and nothing is written', async t => {
  const { tools, text, before } = start(t)
  const rows: [words: string[], err: RegExp][] = [
    [['enable', 'fig__refuse'], /the pattern "ref\*" in tools\.deny of fig hides refuse/],
    [['enable', 'few__facts'], /tools\.allow of few does not list facts/],
    [['disable', 'echo'], /several servers may have a tool echo/],
    [['disable', 'g__ec*'], /ec\* is a pattern/],
    [['disable'], /which tool\?/],
    [['gh', 'fig'], /unknown action: gh/],
  ]
  for (const [words, err] of rows) {
    const found = await tools(...words)
    t.match(found, { err }, words.join(' '))
    t.not(found.code, 0)
    t.match(found.err, /^ {2}fix: /m)
  }
  t.equal(text(), before)
})

t.test('an own name is enough where one server disables it, or is the only one', async t => {
  const { tools, text } = start(t)
  t.match(await tools('enable', 'fail'), { code: 0, err: 'fail of fig is enabled\n' })
  t.match(text(), /\/\/ dangerous\n[^"]*"ref\*"/)
})

t.test('several tools of a server with its rules in "x-mcp-proxy" are disabled at once', async t => {
  const file = configFile(t, { gh: { ...tiny(), 'x-mcp-proxy': { prefix: 'g', tools: { rename: {} } } } })
  t.match(await runHere(t, 'tools', 'disable', 'g__echo', 'g__facts', '--config', file), { code: 0 })
  const { gh } = JSON.parse(readFileSync(file, 'utf8')).mcpServers
  t.same(gh['x-mcp-proxy'], { prefix: 'g', tools: { rename: {}, deny: ['echo', 'facts'] } })
})
