// docs/evidence.md, from the results of runs in docs/evidence/ and from docs/performance.md.
import { readFile } from 'node:fs/promises'
import { table } from './markdown.mjs'

/** The results that a run can record, with the command that produces them. */
export const RUNS = {
  conformance: 'npm run conformance -- --json FILE',
  pairs: 'node test/run.js matrix/eras.ts matrix/pairs.ts --json FILE',
  clients: 'node test/run.js scenarios/sdks.ts scenarios/sdks-through-connect.ts --json FILE',
  servers: 'node test/run.js matrix/everything.ts scenarios/app-pages.ts scenarios/skills-sdk.ts --json FILE',
  faults:
    'node test/run.js scenarios/faults-of-clients.ts scenarios/faults-of-machine.ts scenarios/faults-of-servers.ts ' +
    'scenarios/faults-on-the-wire.ts scenarios/wrong-servers.ts scenarios/restarts.ts --json FILE',
  windows: 'npm run windows -- --json FILE',
  bench: 'npm run bench -- --full --json FILE',
}

const INTRO = {
  conformance: `The official conformance suite runs against a server of each revision directly, then through the proxy, and then against
the proxy as a client. Each scenario makes several checks. A check that fails directly is a fault of the test server or of the
suite. A check that fails only through the proxy needs a reason, or the run fails.`,
  pairs: `Each case is a client with a revision and a transport in front of a server with a revision and a transport. It passes if
all flows work: lists, calls, subscriptions, logs, progress, cancellation, questions of the server, errors and large messages. The
results name every case, such as \`ws 2025-11-25 → ws 2026-07-28\`.`,
  clients: `Releases of the official TypeScript SDK, from the first one, connect with the transport of their time. Each lists, reads and
calls at servers of both kinds of revisions, answers their questions, and does the same through the search tools.`,
  servers: `Published servers run behind the proxy, and not only fixtures of this repository: the reference server
(\`@modelcontextprotocol/server-everything\`), example servers with apps, whose pages run in Chromium, and a server of skills
that uses the official SDK.`,
  faults: `Clients, servers and networks misbehave in these tests, while other clients keep calling. Each test fails if another client
notices.`,
  windows: `The smoke check uses Node for Windows under wine: commands, the daemon, bridges, named pipes, terminals, and servers that
must end with the proxy. Skipped cases need signals, file modes or links that wine lacks.`,
  bench: 'A recorded run of the benchmark.',
}

const HEADINGS = {
  conformance: 'Conformance',
  pairs: 'Pairs of revisions and transports',
  clients: 'Clients of the official SDK',
  servers: 'Published servers',
  faults: 'Faults',
  windows: 'Windows under wine',
  bench: 'Recorded benchmark',
}

const READERS = { conformance: conformanceOf, bench: benchOf }

/** Returns the record of a run, as short as the page needs it. Throws if the file is not from such a run. */
export const recordOf = (name, run) => {
  if (!(name in RUNS))
    throw new Error(`unknown run: ${name}; expected one of ${Object.keys(RUNS).join(', ')}`)
  for (const key of ['date', 'commit', 'machine', 'command'])
    if (run[key] === undefined) throw new Error(`the file has no "${key}": write it with ${RUNS[name]}`)
  if (name === 'bench') return shortBench(run)
  if ((name === 'conformance' ? run.runs : run.files) === undefined)
    throw new Error(`the file is not from this run: write it with ${RUNS[name]}`)
  return run
}

const ratioOf = (results, key) => {
  const median = results?.ours?.ratios?.[key]?.median
  return Number.isFinite(median) ? Number(median.toFixed(2)) : null
}

const shortBench = ({ date, commit, machine, command, peers = [], workloads }) => {
  const { node, platform, cpus } = machine
  return {
    date,
    commit,
    machine: `Node ${node.replace('v', '')}, ${platform}, ${cpus} CPUs`,
    command,
    peers,
    rows: workloads.map(({ name, front, results }) => ({
      name: `${front}: ${name}`,
      cpu: ratioOf(results, 'cpu'),
      rate: ratioOf(results, 'rate'),
      p50: ratioOf(results, 'p50'),
    })),
  }
}

function benchOf({ rows }) {
  const cell = value => (value === null ? '' : value.toFixed(2))
  return table(
    ['Ratio to the floor', 'CPU per call', 'Calls per second', 'Median latency'],
    rows.map(({ name, cpu, rate, p50 }) => [name, cell(cpu), cell(rate), cell(p50)]),
  )
}

const plural = (count, noun) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`

function conformanceOf({ runs }) {
  const sum = key => runs.reduce((all, run) => all + run[key], 0)
  const wrong = sum('surprises')
  const byReason = new Map()
  for (const { run, expected = {} } of runs)
    for (const [scenario, why] of Object.entries(expected)) {
      const key = `${run}: ${why}`
      byReason.set(key, [...(byReason.get(key) ?? []), `\`${scenario}\``])
    }
  const reasons = [...byReason].map(([key, scenarios]) => `* ${key} (${scenarios.join(', ')}).`)
  return [
    table(
      ['Run', 'Scenarios', 'Checks passed', 'Checks failed', 'Unexplained'],
      runs.map(({ run, scenarios, passed, failed, surprises }) =>
        [run, scenarios, passed, failed, surprises].map(String),
      ),
    ),
    `In all ${plural(runs.length, 'run')}: ${plural(sum('scenarios'), 'scenario')}, ${plural(sum('passed'), 'check')} passed, ` +
      `${sum('failed')} failed, ${wrong} without a reason.`,
    ...(reasons.length === 0
      ? []
      : ['Scenarios that fail through the proxy, with the reason:', reasons.join('\n')]),
  ].join('\n\n')
}

/** Sections with more cases do not list them. */
const LISTED_MAX = 40
const RESULTS = ['passed', 'failed', 'skipped']

const testsOf = ({ files }) => {
  const groups = new Map()
  for (const { file, tests } of files)
    for (const { within, title, result } of tests) {
      const isMany = within === undefined && tests.length > LISTED_MAX / 2
      const key = isMany ? `\`${file}\`` : `\`${file}\`: ${within ?? title}`
      groups.set(key, [...(groups.get(key) ?? []), result])
    }
  const count = (results, wanted) => results.filter(result => result === wanted).length
  const all = [...groups.values()].flat()
  const titles = files.flatMap(({ tests }) => tests.filter(each => each.within).map(each => each.title))
  return [
    table(
      ['Test', 'Cases passed', 'Failed', 'Skipped'],
      [...groups].map(([key, results]) => [key, ...RESULTS.map(wanted => String(count(results, wanted)))]),
    ),
    ...(all.length > LISTED_MAX ? [] : [`Cases: ${[...new Set(titles)].join('; ')}.`]),
    `${plural(count(all, 'passed'), 'case')} passed, ${count(all, 'failed')} failed, ${count(all, 'skipped')} skipped.`,
  ].join('\n\n')
}

const factsOf = ({ date, commit, machine, command }) =>
  `Run on ${date}, commit \`${commit}\`, ${machine}: \`${command}\``

const sectionOf = (name, record) =>
  [
    `## ${HEADINGS[name]}`,
    INTRO[name],
    ...(record === undefined
      ? [
          `No run is recorded. To record one: \`${RUNS[name]}\`, then \`npm run evidence -- --record ${name} FILE\`.`,
        ]
      : [factsOf(record), (READERS[name] ?? testsOf)(record), `[All results](evidence/${name}.json)`]),
  ].join('\n\n')

/** Returns the part of docs/performance.md below a heading, with the heading one level lower. */
const partOf = (page, heading) => {
  const [, text] = new RegExp(`^## ${heading}\\n([\\s\\S]*?)(?=^## )`, 'm').exec(page) ?? []
  if (text === undefined) throw new Error(`docs/performance.md lacks the section "${heading}"`)
  return `### ${heading}\n${text}`.trim()
}

const UNRECORDED = `## Runs without a record

These commands run tests on real programs, but this page has no results of them:

* \`npm run image\`: both images, built and run with podman.
* \`npm run soak\` and \`npm run soak:replicas\`: load for minutes, while servers, replicas and Redis are killed.
* \`npm run fuzz\`: properties with random inputs.`

const NEVER = `## Never run

Read this list before you rely on a claim of this documentation.

* **Windows.** Tests ran with Node for Windows under wine, and never on Windows. Services of Windows, named pipes under load and
  antivirus programs are untested.
* **macOS.** No test and no command ever ran on macOS. The service (\`launchd\`), paths and the keychain follow its documentation.
* **The clients themselves.** Tests edit the files of 21 clients and connect with the official SDK. No test starts Claude Code, Claude
  Desktop, Cursor, VS Code, Codex, Gemini CLI, Windsurf or another client, and no model took part.
* **GitHub.** The workflows for CI and releases are checked by a linter and never ran. No npm package, image, bundle or GitHub
  release was ever published, and no signature or provenance was ever made.
* **Registries.** No image was pushed to a registry or pulled from one. The images were built and run with podman on Linux only.
* **Kubernetes, systemd on a real host, and load balancers in production.** The examples are validated against schemas. HAProxy and
  nginx run in tests on one machine.
* **Identity providers.** Sign-ins are tested with local issuers, and with no provider such as Okta, Entra ID or Google.
* **Vendors' servers.** No test connects to a server on the internet.
* **Time and scale.** No instance has served people for weeks. Replicas, Redis and clients ran on one machine with two CPUs.`

/** Returns docs/evidence.md. `records` has the results by name; `facts` has figures from the code. */
export const evidenceText = ({ records, performance, facts }) =>
  `${[
    `# Evidence

\`npm run evidence\` writes this page from results of runs in [docs/evidence/](evidence/) and from
[performance.md](performance.md). Each result has its date, commit, machine and command. \`npm run evidence -- --record NAME FILE\`
replaces a result with the one of a new run. A test fails if the README quotes a figure that this page lacks.

The last section lists everything that was [never run](#never-run).`,
    ...['conformance', 'pairs', 'clients', 'servers', 'faults', 'windows'].map(name =>
      sectionOf(name, records[name]),
    ),
    `## Performance

Measured by hand-started runs, with their dates. [performance.md](performance.md) explains the rows and the floor.`,
    partOf(performance, 'Figures and targets'),
    partOf(performance, 'Comparison with other proxies'),
    ...(records.bench === undefined ? [] : [sectionOf('bench', records.bench)]),
    `## Figures in the README

| Figure | Source |
| --- | --- |
${facts.map(([figure, source]) => `| ${figure} | ${source} |`).join('\n')}`,
    UNRECORDED,
    NEVER,
  ].join('\n\n')}\n`

/** Returns the records in docs/evidence/, by name. */
export const readRecords = async root => {
  const found = {}
  for (const name of Object.keys(RUNS)) {
    const text = await readFile(new URL(`docs/evidence/${name}.json`, root), 'utf8').catch(() => undefined)
    if (text !== undefined) found[name] = JSON.parse(text)
  }
  return found
}
