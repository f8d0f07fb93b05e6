// Runs tests: `node test/run.js [--all | FOLDER or FILE under test/ …] [--json FILE] [-- options of tap]`.
// With `--json`, the titles and results of the tests go to a file, for docs/evidence.md.
// esbuild joins the files of a room that starts no programs into one, which runs in one process; every other
// file has a process of its own. Nothing is type-checked (`npm run check:types`).
//
// tap itself only reports: under its runner every process, and every program that one starts, would load its
// hooks first, which takes twice the time of many tests.
import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bundle, EVERY, root } from './bundle.js'
import { runFacts, takeJsonFile } from './run-facts.js'

const JOBS = 3
/** What takes longest begins first, so that no core waits for it at the end. */
const LONGEST =
  /^(cli\/setup\/init|setup|cli\/suggestions|matrix\/.*|release\/(package|bundle)|scenarios\/daemon|fuzz\/.*)$/
const TIMEOUT_MS = 600_000
/** With more failures than this, it is not the machine. */
const ALONE_MOST = 3

const split = process.argv.indexOf('--')
const { file: jsonFile, rest: paths } = takeJsonFile(process.argv.slice(2, split === -1 ? undefined : split))
const options = split === -1 ? [] : process.argv.slice(split + 1)
const facts = runFacts(`node test/run.js ${paths.join(' ')}`)
const bundles = await bundle(paths.includes('--all') ? EVERY : paths, { folder: 'bundles' })

// What a test starts without a place of its own must not meet the proxies of this user.
const state = mkdtempSync(join(tmpdir(), 'mcp-tests-'))
const env = {
  ...process.env,
  NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`.trim(),
  TAP_TIMEOUT: String(TIMEOUT_MS / 1_000),
  XDG_STATE_HOME: state,
  MCP_PROXY_RUN_DIR: join(state, 'run'),
}

/** Resolves with the code or signal that Node ends with; what it prints goes to `output`, if there is one. */
const run = (args, output) =>
  new Promise(resolve => {
    const stdio = ['ignore', output === undefined ? 'inherit' : 'pipe', 'inherit']
    const child = spawn(process.execPath, args, { cwd: root, env, stdio, timeout: TIMEOUT_MS })
    child.stdout?.pipe(output)
    child.once('close', (code, signal) => resolve(code ?? signal))
  })

/** Returns the tests of a report in TAP, without their single assertions; tests within one stand for it. */
const testsIn = report => {
  const lines = report.split('\n')
  const names = new Set(lines.flatMap(line => /^(?: {4})?# Subtest: (.*)$/.exec(line)?.[1] ?? []))
  const tests = []
  let inner = []
  for (const line of lines) {
    const [, indent, isBad, title, note] =
      /^( {4})?(not )?ok \d+ - (.*?)(?: # (SKIP|TODO|time).*)?$/.exec(line) ?? []
    if (!names.has(title)) continue
    const result = isBad ? 'failed' : note === 'SKIP' ? 'skipped' : 'passed'
    if (indent !== undefined) inner.push({ title, result })
    else {
      const within = inner.map(each => ({ within: title, ...each }))
      tests.push(...(inner.length > 0 ? within : [{ title, result }]))
      inner = []
    }
  }
  return tests
}

const nameOf = file => file.replace(/^.*?bundles.(.*)\.mjs$/, '$1').replaceAll('\\', '/')

const failed = []
const reportOf = file => file.replace(/\.mjs$/, '.tap')
const isLong = file => LONGEST.test(nameOf(file))
const waiting = [...bundles.filter(isLong), ...bundles.filter(file => !isLong(file))]
const work = async () => {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const report = join(root, reportOf(file))
    mkdirSync(dirname(report), { recursive: true })
    const began = Date.now()
    const result = await run([file], createWriteStream(report))
    const name = nameOf(file)
    if (result !== 0) failed.push({ file, report, what: `${name} ended with ${result}` })
    console.error(`${result === 0 ? 'ok' : 'not ok'} ${name} (${Math.round((Date.now() - began) / 1_000)} s)`)
  }
}
await Promise.all(Array.from({ length: JOBS }, work))

// Whether a machine that is busy with other tests made a few fail is told by running them alone. What failed
// beside the others is shown all the same: nobody should have to guess which tests need a second try.
if (bundles.length > 1 && failed.length <= ALONE_MOST) {
  for (const { file, report, what } of failed.splice(0)) {
    const lines = readFileSync(report, 'utf8').split('\n')
    console.error(`${what} beside others, and is run again, alone:`)
    for (const line of lines.filter(line => /^ *not ok/.test(line))) console.error(line)
    waiting.push(file)
  }
  await work()
}

const tap = createRequire(import.meta.url)
  .resolve('tap')
  .replace(/dist.*/, 'dist/esm/run.mjs')
const reports = bundles.map(reportOf)
if (jsonFile !== undefined) {
  const files = bundles.map(file => ({
    file: nameOf(file),
    tests: testsIn(readFileSync(join(root, reportOf(file)), 'utf8')),
  }))
  writeFileSync(jsonFile, JSON.stringify({ ...facts, files }, undefined, 2))
}
const reported = await run([tap, '--disable-coverage', '--allow-empty-coverage', ...options, ...reports])
// A process may fail after its last test.
for (const { what } of failed) console.error(what)
rmSync(state, { recursive: true, force: true, maxRetries: 5 })
process.exitCode = reported !== 0 || failed.length > 0 ? 1 : 0
