// Runs tests on the Windows build of Node: `npm run windows [-- FOLDER or FILE under test/ …]`, the smoke
// check if none is named. On Windows itself that is what test/run.js does; on Linux they run under wine,
// which wine.sh installs outside of the project.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { bundle, root } from '../bundle.js'

const SMOKE = [
  'scenarios/windows.ts',
  'cli/tools/call.ts',
  'cli/serve/serve.ts',
  'cli/status/status.ts',
  'cli/serve/bridge.ts',
  'cli/serve/stdio.ts',
]

const here = name => fileURLToPath(new URL(name, import.meta.url))
const named = process.argv.slice(2)
const paths = named.length > 0 ? named : SMOKE
const [program, ...args] =
  process.platform === 'win32'
    ? [process.execPath, here('../run.js'), ...paths]
    : // wine has the files of Linux on a drive of their own.
      [
        'bash',
        here('wine.sh'),
        ...(await bundle(paths, { folder: 'windows', urlOf: path => `file:///Z:${path}` })),
      ]
const child = spawn(program, args, { cwd: root, stdio: 'inherit' })
child.once('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
