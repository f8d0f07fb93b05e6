import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t from 'tap'
import { textOf } from '../support/suggestions.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const evidence = textOf('docs/evidence.md')

const NUMBER = String.raw`(?:\d[\d.,]*(?:\/s)?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`
const UNIT =
  '(?:other |example |quick |search |official )?(?:ms|µs|s|seconds?|minutes?|hours?|days?|weeks?|bytes|[KMG]i?B|tools?|servers?|' +
  'clients?|scenarios?|checks?|tests?|runs?|calls?|sessions?|users?|stars?|proxies)'
const FIGURE = new RegExp(
  String.raw`(?<![\w.-])(?:${NUMBER} ?(?:%|×|percent\b|times\b)|${NUMBER} ${UNIT}\b)`,
  'gi',
)

/** Returns the figures of a text, without its code, and addresses of its links. */
const figuresOf = (text: string): readonly string[] =>
  text
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/`[^`]*`/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ')
    .match(FIGURE) ?? []

/** Returns the figures of a text that a page does not have. */
const missingIn = (page: string, text: string): readonly string[] => {
  const known = page.replace(/\s+/g, ' ').toLowerCase()
  const has = (figure: string): boolean =>
    new RegExp(`(?<![\\w.,])${figure.toLowerCase().replaceAll('.', '\\.')}`).test(known)
  return figuresOf(text).filter(figure => !has(figure))
}

t.test('every figure of the README is in the evidence', async t => {
  const readme = textOf('README.md')
  t.ok(figuresOf(readme).length >= 3, figuresOf(readme).join(', '))
  t.same(missingIn(evidence, readme), [])
})

t.test('the example has as many servers as the README says', async t => {
  t.equal(Object.keys(JSON.parse(textOf('mcp-proxy.example.json')).mcpServers).length, 4)
})

t.test('figures without evidence are found', async t => {
  const text =
    'It takes 3 ms, 12.5 % less than 40 tools of `9 servers`, and passes 7,777 scenarios in five minutes.'
  t.same(figuresOf(text), ['3 ms', '12.5 %', '40 tools', '7,777 scenarios', 'five minutes'])
  t.same(missingIn('140 tools, 3 ms', text), ['12.5 %', '40 tools', '7,777 scenarios', 'five minutes'])
})

t.test('each recorded run has a date, a commit, a machine and a command', async t => {
  const files = readdirSync(join(root, 'docs/evidence'))
  t.ok(files.length >= 4, files.join(' '))
  for (const file of files) {
    const { date, commit, machine, command } = JSON.parse(textOf(`docs/evidence/${file}`))
    t.match(date, /^\d{4}-\d\d-\d\d$/, file)
    t.match(commit, /^[0-9a-f]{12}$/, `${file}: of a commit, without further changes`)
    t.match(machine, /Node \d+\.\d+\.\d+, /, file)
    t.match(command, /^(?:npm|node) /, file)
    for (const fact of [date, commit, command]) t.ok(evidence.includes(fact), `${file}: ${fact}`)
  }
})

t.test('the evidence names what was never run', async t => {
  const [, never = ''] = evidence.split('## Never run')
  for (const name of ['Windows', 'macOS', 'Claude Code', 'GitHub', 'Registries', 'Identity providers'])
    t.match(never, name)
})

t.test('a record of the benchmark keeps the medians of its ratios', async t => {
  const { recordOf } = (await import(pathToFileURL(join(root, 'bin/docs/evidence-page.mjs')).href)) as {
    recordOf: (name: string, run: object) => object
  }
  const ratios = { cpu: { median: 0.934 }, rate: { median: 1.2 }, p50: { median: Number.NaN } }
  const run = {
    ...{
      date: '2026-11-29',
      commit: '0123456789ab',
      command: 'npm run bench',
      peers: ['supergateway 4.0.0'],
    },
    machine: { node: 'v20.20.2', platform: 'linux x64', cpus: 2 },
    workloads: [{ name: '200 B', front: 'http', results: { floor: {}, ours: { ratios } } }],
  }
  t.match(recordOf('bench', run), {
    machine: 'Node 20.20.2, linux x64, 2 CPUs',
    rows: [{ name: 'http: 200 B', cpu: 0.93, rate: 1.2, p50: null }],
  })
})

t.test('a record that is not from a run is refused, with the command that makes one', async t => {
  const record = (...args: readonly string[]): Promise<{ code: number; err: string }> =>
    new Promise(resolve => {
      const words = [join(root, 'bin/write-evidence.mjs'), '--record', ...args]
      execFile(process.execPath, words, (error, _out, err) =>
        resolve({ code: Number(error?.code ?? 0), err }),
      )
    })
  const file = t.testdir({ 'a.json': '{}' })
  t.match(await record('conformance', join(file, 'a.json')), {
    code: 1,
    err: 'npm run conformance -- --json FILE',
  })
  t.match(await record('other', join(file, 'a.json')), { code: 1, err: 'unknown run: other' })
  t.match(await record('bench'), { code: 2, err: 'usage' })
})
