// Runs the official conformance suite on the fixture of each era itself, and on `mcp-proxy bridge` in front
// of it, on stdio and over HTTP; then on the proxy as a client. What a fixture of the era passes directly
// must pass through the proxy, whichever era the fixture behind it is of, or if it is of both, except what
// EXPECTED names with a reason. Usage:
// npm run conformance [-- words that the names of runs must have, --json FILE]
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { scriptFacts, takeJsonFile } from '../run-facts.js'
import { EXPECTED } from './expected.mjs'
import { joinSuite, openSuite } from './suite.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '../..')
const PROXY = join(root, 'bin/mcp-proxy.js')
/** How many scenarios about tasks, which wait most of the time, and about sign-ins run at the same time. */
const TASK_LANES = 4
const AUTH_LANES = 2
/** How much of what the suite printed is shown of a run that is worse. */
const OUTPUT_CHARS = 20_000
const PASSED = /^[✓✗~]\s+([\w/-]+): (\d+) passed, (\d+) failed/
const FIXTURES = {
  legacy: join(here, 'server.mjs'),
  modern: join(here, 'modern-server.mjs'),
  dual: join(here, 'dual-server.mjs'),
  tasks: join(here, 'task-server.mjs'),
}
/** The scenarios of the extension of tasks; a suite for a revision does not need a server with tasks. */
const TASKS = 'tasks-'
const ERAS = ['legacy', 'modern', 'dual']
const NEWEST = { '2025-11-25': 'legacy', '2026-07-28': 'modern' }

const bridge = (...to) => [PROXY, 'bridge', '--port', '0', ...to]

/** How the suite reaches a fixture: what is started, in order; each gets the URL of the one before. */
const WAYS = {
  directly: fixture => [() => [fixture, 'http']],
  'through us, on stdio': fixture => [() => bridge('--', process.execPath, fixture, 'stdio')],
  'through us, over HTTP': fixture => [() => [fixture, 'http'], url => bridge(url)],
  'through replicas': fixture => [() => [join(here, 'replicas.mjs'), fixture]],
}
const hasRedis = spawnSync('redis-server', ['--version']).status === 0

const serverRuns = [
  // What a fixture can do by itself comes first: it is measured by that, or by what the one of the era can
  // do.
  ...Object.entries(NEWEST).flatMap(([revision, own]) =>
    [own, ...ERAS.filter(era => era !== own)].flatMap(era =>
      Object.keys(WAYS)
        .filter(way => era === own || era === 'dual' || way !== 'directly')
        .filter(way => way !== 'through replicas' || (hasRedis && era === own))
        .map(way => ({ revision, era, way, selection: ['--requirements', revision] })),
    ),
  ),
  ...['2025-06-18', '2025-03-26'].flatMap(revision =>
    ['directly', 'through us, on stdio'].map(way => ({
      revision,
      era: 'legacy',
      way,
      selection: ['--spec-version', revision],
    })),
  ),
  ...['directly', 'through us, on stdio', 'through us, over HTTP'].map(way => ({
    revision: 'extensions',
    era: 'tasks',
    way,
  })),
]
const clientRuns = Object.keys(NEWEST).flatMap(revision =>
  ['legacy', 'modern'].map(era => ({ revision, era, way: 'as the client' })),
)

const authRuns = ['2025-03-26', '2025-06-18', ...Object.keys(NEWEST), 'extensions'].map(revision => ({
  revision,
  era: 'any',
  way: 'signing in',
}))

const SUBJECTS = { 'as the client': 'client behind us', 'signing in': 'client' }
const nameOf = ({ revision, era, way }) => `${revision}, ${era} ${SUBJECTS[way] ?? 'server'}, ${way}`

/** Starts a server and resolves with it and the URL that it prints first. */
const start = (args, env) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    child.once('exit', code => reject(new Error(`${args[0]} ended with ${code} before it printed its URL`)))
    createInterface({ input: child.stdout }).on('line', line => {
      const url = /http:\/\/\S+\/mcp/.exec(line)?.[0]
      if (url !== undefined) resolve({ child, url })
    })
  })

/**
 * Runs `use` with the variables of a new state folder. A proxy keeps what it knows of a server by address,
 * and ports come again: lists of an earlier scenario would answer for the server of this one.
 */
const withState = async use => {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-proxy-conformance-'))
  try {
    return await use({ XDG_STATE_HOME: folder, MCP_PROXY_RUN_DIR: join(folder, 'run') })
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
}

const readScores = (output, hasTasks) => {
  const scores = new Map()
  for (const line of output.split('\n')) {
    const [, scenario, passed, failed] = PASSED.exec(line.trim()) ?? []
    if (scenario === undefined || scenario.startsWith(TASKS) !== hasTasks) continue
    scores.set(scenario, { passed: Number(passed), failed: Number(failed) })
  }
  if (scores.size === 0) throw new Error(`the suite ran no scenario:\n${output}`)
  return scores
}

/** Returns the output of one scenario with its score, as the suite prints the scores of many. */
const scored = (scenario, output) => {
  const [, passed, all] = /Passed: (\d+)\/(\d+)/.exec(output) ?? [undefined, 0, 1]
  return `${output}\n✓ ${scenario}: ${passed} passed, ${all - passed} failed`
}

/** Resolves with the results of `work` with each item, of which so many run at the same time. */
const inLanes = async (lanes, items, work) => {
  const waiting = [...items.entries()]
  const results = []
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      results[next[0]] = await work(next[1])
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return results
}

const runTasks = async (suite, server) => {
  const listed = await suite.run(['list', '--requirements', '2026-07-28'])
  const names = [...listed.matchAll(/- (tasks-[\w-]+) \[server\]/g)].map(([, name]) => name)
  const outputs = await inLanes(TASK_LANES, names, async name =>
    scored(name, await suite.run([...server, '--scenario', name, '--force'])),
  )
  return outputs.join('\n')
}

const runServer = async ({ era, way, selection }, suite, env) => {
  const started = []
  for (const args of WAYS[way](FIXTURES[era])) started.push(await start(args(started.at(-1)?.url), env))
  const server = ['server', '--url', started.at(-1).url]
  const output = await (era === 'tasks' ? runTasks(suite, server) : suite.run([...server, ...selection]))
  for (const { child } of started.reverse()) {
    child.removeAllListeners('exit')
    child.stdin.end()
    child.kill()
  }
  return output
}

/** The scenarios for clients of a revision, or of the extensions, that are about authorization or are not. */
const clientScenarios = async (suite, revision, isAuth) => {
  const selection = revision in NEWEST || revision === 'extensions' ? '--requirements' : '--spec-version'
  const listed = await suite.run(['list', selection, revision === 'extensions' ? '2025-11-25' : revision])
  if (revision === 'extensions')
    return [...listed.matchAll(/- (auth\/[\w-]+) \[client\]/g)].map(([, name]) => name)
  const [, own = ''] = /Client scenarios[^\n]*\n([\s\S]*?)\n\n/.exec(`${listed}\n\n`) ?? []
  const names = [...own.matchAll(/^ {2}- ([\w/-]+)/gm)].map(([, name]) => name)
  return names.filter(name => name.startsWith('auth/') === isAuth)
}

/** Some measure times, and have the machine to themselves; sign-ins do not. */
const runClient = async ({ revision, era, way }, suite) => {
  const isAuth = way === 'signing in'
  const command = `${process.execPath} ${join(here, isAuth ? 'auth-client.mjs' : 'client.mjs')}`
  const selection = revision === 'extensions' ? ['--force'] : ['--spec-version', revision]
  const runScenario = async scenario => {
    const args = ['client', '--command', command, '--scenario', scenario, ...selection]
    const output = await withState(env => suite.run(args, { ...env, CONFORMANCE_CLIENT: era }))
    return scored(scenario, output)
  }
  const scenarios = await clientScenarios(suite, revision, isAuth)
  return (await inLanes(isAuth ? AUTH_LANES : 1, scenarios, runScenario)).join('\n')
}

/** What is not as it must be: worse than directly without a reason, or as good in spite of one. */
const surprises = (name, scores, direct) => {
  const expected = EXPECTED[name] ?? {}
  const failed = [...scores].filter(([scenario, { failed }]) => failed > (direct?.get(scenario)?.failed ?? 0))
  const missing = [...(direct?.keys() ?? [])].filter(scenario => !scores.has(scenario))
  const bad = [...failed.map(([scenario]) => scenario), ...missing]
  return [
    ...bad.filter(scenario => !(scenario in expected)).map(scenario => `worse: ${scenario}`),
    ...Object.keys(expected)
      .filter(scenario => !bad.includes(scenario))
      .map(scenario => `passes, though it is said not to: ${scenario}`),
  ]
}

if (!existsSync(join(root, 'dist'))) throw new Error('dist is missing: run `npm run build` first')
/** `CONFORMANCE=brief` chooses these: the newest revisions with servers of one era, without replicas. */
const isBrief = ({ revision, era, way }) =>
  (revision in NEWEST || revision === 'extensions') && era !== 'dual' && way !== 'through replicas'
const { file: jsonFile, rest: words } = takeJsonFile(process.argv.slice(2))
const facts = scriptFacts('conformance', words)
const wanted = [...serverRuns, ...clientRuns, ...authRuns].filter(
  run =>
    words.every(word => nameOf(run).includes(word)) && (process.env.CONFORMANCE !== 'brief' || isBrief(run)),
)
const isNeeded = run =>
  wanted.includes(run) || (run.way === 'directly' && wanted.some(({ revision }) => revision === run.revision))
const direct = new Map()

/** Resolves with what the suite printed about a run. */
const outputOf = async run => {
  const suite = openSuite()
  try {
    if (run.way in SUBJECTS) return await runClient(run, suite)
    return await withState(env => runServer(run, suite, env))
  } finally {
    suite.close()
  }
}

/** Runs the suite once, and resolves with a row of the table. */
const rowOf = async run => {
  const name = nameOf(run)
  const isClient = run.way in SUBJECTS
  const output = await outputOf(run)
  const scores = readScores(output, run.era === 'tasks')
  const own = `${run.revision} ${run.era}`
  if (run.way === 'directly') direct.set(own, scores)
  const base = isClient
    ? undefined
    : (direct.get(own) ?? direct.get(`${run.revision} ${NEWEST[run.revision]}`))
  const wrong = run.way === 'directly' ? [] : surprises(name, scores, base)
  const sum = member => [...scores.values()].reduce((all, score) => all + score[member], 0)
  console.log(`${name}: ${scores.size} scenarios, ${sum('passed')} checks passed, ${sum('failed')} failed`)
  for (const one of wrong) console.log(`  ${one}`)
  if (wrong.length > 0) console.log(output.slice(-OUTPUT_CHARS))
  return {
    run: name,
    scenarios: scores.size,
    passed: sum('passed'),
    failed: sum('failed'),
    surprises: wrong.length,
    ...(run.way === 'directly' ? {} : { expected: EXPECTED[name] ?? {} }),
  }
}

const rowsOf = async runs => {
  const rows = []
  for (const run of runs.filter(isNeeded)) rows.push(await rowOf(run))
  return rows
}

await joinSuite()
// Servers and clients at the same time: both wait most of the time.
const table = (await Promise.all([rowsOf(serverRuns), rowsOf([...clientRuns, ...authRuns])])).flat()
console.table(table.map(({ expected: _, ...row }) => row))
if (jsonFile !== undefined) writeFileSync(jsonFile, JSON.stringify({ ...facts, runs: table }, undefined, 2))
process.exitCode = table.some(({ surprises: some }) => some > 0) ? 1 : 0
