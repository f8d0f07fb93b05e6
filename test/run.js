// Runs tests: `node test/run.js [FOLDER or FILE under test/ …] [-- options of tap]`. esbuild joins the files of a room that starts no
// programs into one, which runs in one process; every other file has a process of its own. Nothing is type-checked (`npm run check:types`).
import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const built = join(root, '.tap', 'bundles')
const PURE = ['kernel', 'wire', 'model', 'rpc', 'eras', 'peers', 'catalog', 'mux', 'config', 'app']
const isTest = path => path.endsWith('.ts') && !/^(support|fixtures|matrix\/flows)\//.test(path)

/** The test files at a path, relative to `test/`. */
const filesAt = async path => {
  const full = join(root, 'test', path)
  if (!(await stat(full)).isDirectory()) return [path]
  const entries = await readdir(full, { recursive: true })
  return entries
    .map(entry => join(path, entry))
    .filter(isTest)
    .sort()
}

/** A module of a bundle still finds what lies beside its source. */
const sourceUrls = {
  name: 'source-urls',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const url = JSON.stringify(pathToFileURL(path).href)
      return { contents: text.replaceAll('import.meta.url', url), loader: 'ts', resolveDir: dirname(path) }
    }),
}

const split = process.argv.indexOf('--')
const asked = process.argv
  .slice(2, split === -1 ? undefined : split)
  .map(path => (relative('test', path).startsWith('..') ? path : relative('test', path)))
const options = split === -1 ? [] : process.argv.slice(split + 1)
const files = (await Promise.all((asked.length > 0 ? asked : PURE).map(filesAt))).flat()

await rm(built, { recursive: true, force: true })
await mkdir(built, { recursive: true })
const entries = {}
for (const room of PURE) {
  const own = files.filter(file => file.startsWith(`${room}${sep}`))
  if (own.length === 0) continue
  const entry = join(built, `${room}.ts`)
  await writeFile(entry, own.map(file => `import ${JSON.stringify(join(root, 'test', file))}\n`).join(''))
  entries[room] = entry
}
for (const file of files)
  if (!PURE.includes(file.split(sep)[0])) entries[file.slice(0, -3)] = join(root, 'test', file)

await build({
  entryPoints: entries,
  bundle: true,
  splitting: true,
  outdir: built,
  outExtension: { '.js': '.mjs' },
  chunkNames: 'part-[hash]',
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  sourcemap: 'inline',
  plugins: [sourceUrls],
  logLevel: 'warning',
})

const tap = createRequire(import.meta.url)
  .resolve('tap')
  .replace(/dist.*/, 'dist/esm/run.mjs')
const child = spawn(
  process.execPath,
  [
    tap,
    '--disable-coverage',
    '--allow-empty-coverage',
    ...options,
    ...Object.keys(entries).map(name => join('.tap', 'bundles', `${name}.mjs`)),
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --enable-source-maps`.trim() },
  },
)
child.once('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
