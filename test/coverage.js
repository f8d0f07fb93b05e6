// `npm run coverage`: every test but the official conformance suite, and which lines and branches of the
// source ran in them, in the processes of tests as in those that tests start; .tap/report/index.html shows
// them. Exits with 1 when tests fail or less is covered than MUST says, in percent.
import { spawnSync } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CoverageReport } from 'monocart-coverage-reports'
import { root } from './bundle.js'

const MUST = { lines: 95, branches: 78 }

// Not `.tap/coverage`: tap would make a report of its own of what is there.
const raw = join(root, '.tap', 'v8')
await rm(raw, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, [join(root, 'test/run.js'), '--all'], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, NODE_V8_COVERAGE: raw },
})

// A process that a test kills while it writes its coverage leaves half a file, which the report cannot read.
for (const name of await readdir(raw)) {
  const path = join(raw, name)
  try {
    JSON.parse(await readFile(path, 'utf8'))
  } catch {
    console.error(`${name} is incomplete: its process was killed while it wrote it`)
    await rm(path)
  }
}

const built = ['.tap/bundles/', 'dist/', 'bin/connect.cjs'].map(path => pathToFileURL(join(root, path)).href)
const report = new CoverageReport({
  name: 'Coverage',
  outputDir: join(root, '.tap', 'report'),
  reports: ['console-summary', 'v8'],
  entryFilter: ({ url }) => built.some(path => url.startsWith(path)),
  // Of packages that are built in, nothing is ours to cover.
  sourcePath: path => (path.includes('node_modules/') ? path : path.replace(/^.*\/src\//, 'src/')),
  sourceFilter: path => path.startsWith('src/') && !path.includes('.generated.'),
})
report.cleanCache()
await report.addFromDir(raw)
const { summary } = await report.generate()
await rm(raw, { recursive: true, force: true })
const short = Object.entries(MUST).filter(([what, percent]) => summary[what].pct < percent)
for (const [what, percent] of short)
  console.error(`${what}: ${summary[what].pct} % covered, ${percent} % must be`)
process.exitCode = status !== 0 || short.length > 0 ? 1 : 0
