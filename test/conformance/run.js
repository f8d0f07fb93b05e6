// Runs the official conformance suite twice: on the fixture itself, and on `mcp-proxy bridge` in front of the same fixture on
// stdio. Whatever passes directly must pass through the proxy, except what expected-failures.yaml names with a reason.
// Usage: npm run conformance [-- revision ...]
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../..')
const SUITE = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const FIXTURE = join(here, 'server.mjs')
const PROXY = join(root, 'bin/mcp-proxy.js')
const PASSED = /^[✓✗~]\s+([\w-]+): (\d+) passed, (\d+) failed/

const ways = [
  { name: 'directly', args: [FIXTURE, 'http'], expected: [] },
  {
    name: 'through the proxy',
    args: [PROXY, 'bridge', '--port', '0', '--', process.execPath, FIXTURE, 'stdio'],
    expected: ['--expected-failures', join(here, 'expected-failures.yaml')],
  },
]

/** Starts a server and resolves with it and the URL that it prints first. */
const start = args =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'] })
    child.once('exit', code => reject(new Error(`${args[0]} ended with ${code} before it printed its URL`)))
    createInterface({ input: child.stdout }).on('line', line => {
      const url = /http:\/\/\S+\/mcp/.exec(line)?.[0]
      if (url !== undefined) resolve({ child, url })
    })
  })

/** Runs the suite and resolves with its output and exit code. */
const runSuite = (url, selection, expected) =>
  new Promise(resolve => {
    const hook = ['--import', join(here, 'on-node-20.mjs')]
    const suite = spawn(
      process.execPath,
      [...hook, SUITE, 'server', '--url', url, ...selection, ...expected],
      { cwd: root },
    )
    let output = ''
    suite.stdout.on('data', chunk => (output += chunk))
    suite.stderr.on('data', chunk => (output += chunk))
    suite.on('close', code => resolve({ output, code }))
  })

const readScores = output => {
  const scores = new Map()
  for (const line of output.split('\n')) {
    const [, scenario, passed, failed] = PASSED.exec(line.trim()) ?? []
    if (scenario !== undefined) scores.set(scenario, { passed: Number(passed), failed: Number(failed) })
  }
  return scores
}

if (!existsSync(join(root, 'dist'))) throw new Error('dist is missing: run `npm run build` first')
const revisions = process.argv.slice(2)
let isWorse = false
for (const revision of revisions.length > 0 ? revisions : ['2025-11-25', '2025-06-18', '2025-03-26']) {
  const selection = revision === '2025-11-25' ? ['--requirements', revision] : ['--spec-version', revision]
  const results = []
  for (const { name, args, expected } of ways) {
    const { child, url } = await start(args)
    const { output, code } = await runSuite(url, selection, expected)
    child.removeAllListeners('exit')
    child.stdin.end()
    child.kill()
    const scores = readScores(output)
    const total = [...scores.values()].reduce((sum, score) => sum + score.passed, 0)
    const failed = [...scores.values()].reduce((sum, score) => sum + score.failed, 0)
    if (scores.size === 0) throw new Error(`the suite ran no scenario:\n${output}`)
    console.log(
      `${revision} ${name}: ${scores.size} scenarios, ${total} checks passed, ${failed} failed (exit ${code})`,
    )
    results.push({ scores, code, output })
  }
  const [direct, proxied] = results
  for (const [scenario, { failed }] of direct.scores) {
    const through = proxied.scores.get(scenario)
    if (failed === 0 && (through === undefined || through.failed > 0)) {
      console.log(`  worse through the proxy: ${scenario}`)
      isWorse = true
    }
  }
  if (proxied.code !== 0) {
    console.log(proxied.output.slice(proxied.output.indexOf('=== SUMMARY')))
    isWorse = true
  }
}
process.exitCode = isWorse ? 1 : 0
