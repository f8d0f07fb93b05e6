// Runs tests: `node test/run.js [FOLDER or FILE under test/ …] [-- options of tap]`. esbuild joins the files
// of a room that starts no
// programs into one, which runs in one process; every other file has a process of its own. Nothing is type-
// checked (`npm run check:types`).
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { bundle, root } from './bundle.js'

const split = process.argv.indexOf('--')
const paths = process.argv.slice(2, split === -1 ? undefined : split)
const options = split === -1 ? [] : process.argv.slice(split + 1)
const bundles = await bundle(paths, { folder: 'bundles' })

const tap = createRequire(import.meta.url)
  .resolve('tap')
  .replace(/dist.*/, 'dist/esm/run.mjs')
const child = spawn(
  process.execPath,
  [tap, '--disable-coverage', '--allow-empty-coverage', ...options, ...bundles],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`.trim() },
  },
)
child.once('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
