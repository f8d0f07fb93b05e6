import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import {
  CAUSES,
  type CauseCode,
  familyOf,
  numberOf,
  PROBLEM_IDS,
  rowOf,
} from '../../src/diagnostics/causes.js'
import { cause, causeLine, explain } from '../../src/diagnostics/explain.js'

const CODES = Object.keys(CAUSES) as CauseCode[]

t.test('docs/doctor.md explains every problem, and no other', async t => {
  const page = readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8')
  const sections = page.split(/^### /m).slice(1)
  const found = sections.map(section => section.slice(0, section.indexOf('\n')))
  t.same(
    found,
    PROBLEM_IDS.map(id => `${id}: ${rowOf(id).about}`),
  )
  const words = { error: 'Error', warn: 'Warning', note: 'Note' }
  for (const [index, row] of PROBLEM_IDS.map(rowOf).entries()) {
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
      const unknown = [...text.matchAll(/\bD0\d\d\b/g)].filter(([id]) => !Object.hasOwn(CAUSES, id))
      t.same(
        unknown.map(([id]) => id),
        [],
        name,
      )
    }
  }
})

t.test('a cause is explained with its facts', async t => {
  t.same(explain(cause('D030', { command: 'uvx', server: 'git' }, 'git')), {
    code: 'D030',
    id: 'D030',
    level: 'error',
    subject: 'git',
    message: 'uvx of git is not found',
    why: undefined,
    fix: 'install uvx, or write its whole path',
    command: 'mcp-proxy doctor --server git',
    label: 'not found',
  })
  const literal = explain(cause('D013', { server: '{command}', key: '$&', why: 'it begins with ghp_' }))
  t.match(literal, { message: '{command}.$& holds a secret', why: 'it begins with ghp_', level: 'warn' })
})

t.test('a case has the texts of its problem unless it has its own', async t => {
  t.match(explain(cause('D006.open', { path: '/s' })), {
    ...{ id: 'D006', level: 'warn', message: 'others can read /s', fix: 'chmod 700 /s' },
  })
  t.match(explain(cause('D006.full', { path: '/s', megabytes: 3 })), {
    ...{ id: 'D006', level: 'error', message: 'cannot write /s', why: 'only 3 MB are free there' },
  })
})

t.test('values in commands are quoted for a shell if necessary', async t => {
  t.equal(explain(cause('D012', { file: "/it's here" })).fix, String.raw`chmod 600 '/it'\''s here'`)
  t.equal(
    causeLine(cause('D036', { server: 'a b' })),
    "D036: a b requires a login; mcp-proxy auth login 'a b'",
  )
  const unknown = { name: '$(touch /tmp/x)', method: '', message: '', server: '' }
  t.match(explain(cause('error.unknown-name', unknown)).fix, /^mcp-proxy why '\$\(touch \/tmp\/x\)' /)
})

t.test('nothing that is filled in is left in braces', async t => {
  const anything = new Proxy({}, { get: () => 'x' })
  for (const code of CODES) {
    const { message, why, fix, command, label } = explain({ code, subject: '', facts: anything })
    t.notMatch(`${message} ${why} ${fix} ${command} ${label}`, /\{'?\w+'?\}/, code)
    t.not(message, '', `${code} has a message`)
  }
})

t.test('every case belongs to a number or a verdict, and every number has a heading', async t => {
  for (const code of CODES) {
    const id = numberOf(code)
    if (id !== undefined) t.type(rowOf(id).about, 'string', `${code}: ${id}`)
    if (/^D\d/.test(code))
      t.ok(
        CODES.some(other => other === familyOf(code)),
        code,
      )
  }
})
