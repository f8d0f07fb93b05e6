import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { problem } from '../../src/problems/problem.js'
import type { ProblemRow } from '../../src/problems/row.js'
import { PROBLEMS } from '../../src/problems/table.js'

t.test('docs/doctor.md explains every problem, and no other', async t => {
  const page = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8')
  const sections = page.split(/^### /m).slice(1)
  const found = sections.map(section => section.slice(0, section.indexOf('\n')))
  t.same(
    found,
    Object.entries(PROBLEMS).map(([id, { about }]) => `${id}: ${about}`),
  )
  const words = { error: 'Error', warn: 'Warning', note: 'Note' }
  for (const [index, row] of Object.values<ProblemRow>(PROBLEMS).entries()) {
    const text = sections[index]?.replace(/\s+/g, ' ') ?? ''
    t.ok(text.includes(`*${words[row.level ?? 'warn']}.* `), found[index] ?? '')
    t.equal(text.includes(`*Fix:* ${row.autoFix}.`), row.autoFix !== undefined, found[index] ?? '')
  }
})

t.test('a number that is named anywhere, in the sources or in a page, is one of the table', async t => {
  for (const folder of ['src', 'docs']) {
    const url = new URL(`../../${folder}/`, import.meta.url)
    const names = readdirSync(url, { recursive: true, encoding: 'utf8' })
    for (const name of names.filter(each => /\.(?:tsx?|md)$/.test(each))) {
      const text = readFileSync(new URL(name.replaceAll('\\', '/'), url), 'utf8')
      const unknown = [...text.matchAll(/\bD0\d\d\b/g)].filter(([id]) => !Object.hasOwn(PROBLEMS, id))
      t.same(
        unknown.map(([id]) => id),
        [],
        name,
      )
    }
  }
})

t.test('a problem has its placeholders filled in, also in its variants', async t => {
  t.same(problem('D030', { command: 'uvx', server: 'git' }), {
    id: 'D030',
    level: 'error',
    message: 'uvx of git is not found',
    why: undefined,
    fix: 'install uvx, or write its whole path',
  })
  const values = { server: '{command}', key: '$&' }
  const own = problem('D013', values, { why: 'it begins with ghp_', level: 'note', fix: 'move it' })
  t.match(own, { message: '{command}.$& holds a secret', why: /ghp_/, level: 'note', fix: 'move it' })
})

t.test('nothing that is filled in is left in braces', async t => {
  for (const [id, { says, fix }] of Object.entries(PROBLEMS)) {
    const names = [...`${says} ${fix}`.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    const filled = problem(id as 'D010', Object.fromEntries(names.map(name => [name, 'x'])) as never)
    t.notMatch(`${filled.message} ${filled.fix}`, /\{\w+\}/, id)
  }
})
