// Runs tests: `node test/run.js [FOLDER or FILE under test/ …] [-- options of tap]`. esbuild joins the files
// of a room that starts no
// programs into one, which runs in one process; every other file has a process of its own. Nothing is type-
// checked (`npm run check:types`).
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundle, root } from './bundle.js'

const split = process.argv.indexOf('--')
const paths = process.argv.slice(2, split === -1 ? undefined : split)
const options = split === -1 ? [] : process.argv.slice(split + 1)
const bundles = await bundle(paths, { folder: 'bundles' })

const tap = createRequire(import.meta.url)
  .resolve('tap')
  .replace(/dist.*/, 'dist/esm/run.mjs')
// What a test starts without a place of its own must not meet the proxies of this user.
const state = mkdtempSync(join(tmpdir(), 'mcp-tests-'))
const child = spawn(
  process.execPath,
  [tap, '--disable-coverage', '--allow-empty-coverage', ...options, ...bundles],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`.trim(),
      XDG_STATE_HOME: state,
      MCP_PROXY_RUN_DIR: join(state, 'run'),
    },
  },
)
child.once('exit', (code, signal) => {
  rmSync(state, { recursive: true, force: true, maxRetries: 5 })
  process.exit(code ?? (signal === null ? 1 : 128))
})
