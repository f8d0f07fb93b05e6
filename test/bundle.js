// Joins tests by esbuild, for test/run.js and test/windows/run.js.
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** The folder of the project. */
export const root = fileURLToPath(new URL('..', import.meta.url))
/** Rooms whose tests start no programs. */
const PURE = (
  'kernel diagnostics wire model search rpc eras peers catalog mux ' +
  'config setup doctor auth state telemetry control shim app ui'
).split(' ')
/** What `npm test` runs. */
const QUICK = ['architecture.ts', 'walk.ts', 'prose.ts', 'advice.ts', 'docs', ...PURE]
/** All tests but the official conformance suite. */
export const EVERY = [
  ...QUICK,
  'transport',
  'cluster',
  'cli',
  'matrix',
  'scenarios',
  'release',
  'vectors',
  'fuzz',
]
const isTest = path => /\.tsx?$/.test(path) && !/^(support|fixtures|matrix\/flows|vectors\/play)\//.test(path)

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
const sourceUrls = urlOf => ({
  name: 'source-urls',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const url = JSON.stringify(urlOf(path))
      return {
        contents: text.replaceAll('import.meta.url', url),
        loader: path.endsWith('x') ? 'tsx' : 'ts',
        resolveDir: dirname(path),
      }
    }),
})

const REQUIRE = `import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);`
/** Packages of many modules, which take twice as long to load as one file. */
const JOINED = /^(tap|yaml|zod|ajv|ajv-formats|@modelcontextprotocol|sdk-[\d.]+)(\/|$)/

/** Joins some packages with the tests, with all that they import; the others stay outside. */
const joinedPackages = {
  name: 'joined-packages',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) =>
      kind === 'entry-point' || JOINED.test(path) || importer.includes(`${sep}node_modules${sep}`)
        ? undefined
        : { path, external: true },
    ),
}

/** The paths of a command line, relative to `test/`: with or without it. */
const withoutFolder = path => (relative('test', path).startsWith('..') ? path : relative('test', path))

/**
 * Makes modules of the tests at these paths (all that start no programs if there are none) in a folder of
 * `.tap/`. Resolves with their paths, relative to the
 * project. `urlOf` says where tests find what lies beside their sources.
 */
export const bundle = async (paths, { folder, urlOf = path => pathToFileURL(path).href }) => {
  const asked = paths.length > 0 ? paths.map(withoutFolder) : QUICK
  const files = (await Promise.all(asked.map(filesAt))).flat()
  const built = join(root, '.tap', folder)
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
    if (!PURE.includes(file.split(sep)[0])) entries[file.replace(/\.tsx?$/, '')] = join(root, 'test', file)

  await build({
    entryPoints: entries,
    bundle: true,
    splitting: true,
    outdir: built,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'part-[hash]',
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    sourcemap: 'linked',
    // Only the report of coverage shows sources.
    sourcesContent: process.env.NODE_V8_COVERAGE !== undefined,
    banner: { js: REQUIRE },
    plugins: [sourceUrls(urlOf), joinedPackages],
    logLevel: 'warning',
  })
  return Object.keys(entries).map(name => join('.tap', folder, `${name}.mjs`))
}
