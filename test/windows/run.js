// Runs tests on the Windows build of Node: `npm run windows [-- FOLDER or FILE under test/ …] [--json FILE]`,
// the smoke check by default. On Windows itself test/run.js runs them; on Linux they run under wine, which
// wine.sh installs outside of the project. With `--json`, titles and results go to a file, for
// docs/evidence.md.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundle, root } from '../bundle.js'
import { scriptFacts, takeJsonFile } from '../run-facts.js'

const SMOKE = [
  'scenarios/windows.ts',
  'cli/tools/call.ts',
  'cli/serve/serve.ts',
  'cli/status/status.ts',
  'cli/serve/bridge.ts',
  'cli/serve/stdio.ts',
]

const here = name => fileURLToPath(new URL(name, import.meta.url))
const { file: jsonFile, rest: named } = takeJsonFile(process.argv.slice(2))
const paths = named.length > 0 ? named : SMOKE
const facts = scriptFacts('windows', named)

const RESULTS = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' }

/** Writes the lines that wine.sh printed as a record of a run. */
const writeRecord = printed => {
  const tests = [...printed.matchAll(/^(PASS|FAIL|SKIP) (.*)$/gm)].map(([, result, title]) =>
    title.endsWith(' # SKIP')
      ? { title: title.replace(' # SKIP', ''), result: 'skipped' }
      : { title, result: RESULTS[result] },
  )
  const [, versions = ''] = /; (wine.*)$/m.exec(printed) ?? []
  const machine = `${facts.machine}, tests under ${versions}`
  writeFileSync(
    jsonFile,
    JSON.stringify({ ...facts, machine, files: [{ file: 'windows', tests }] }, undefined, 2),
  )
}

const isWindows = process.platform === 'win32'
const [program, ...args] = isWindows
  ? [process.execPath, here('../run.js'), ...paths, ...(jsonFile === undefined ? [] : ['--json', jsonFile])]
  : // wine has the files of Linux on a drive of their own.
    [
      'bash',
      here('wine.sh'),
      ...(await bundle(paths, { folder: 'windows', urlOf: path => `file:///Z:${path}` })),
    ]
const child = spawn(program, args, { cwd: root, stdio: ['inherit', 'pipe', 'inherit'] })
let printed = ''
child.stdout.on('data', chunk => {
  process.stdout.write(chunk)
  printed += chunk
})
child.once('close', code => {
  if (jsonFile !== undefined && !isWindows) writeRecord(printed)
  process.exitCode = code ?? 128
})
