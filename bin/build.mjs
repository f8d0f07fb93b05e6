// Builds the package: `npm run build`. Joins the modules into a few files, because Node resolves, opens,
// compiles and links each module separately, which takes half of the proxy's start time
// (docs/performance.md). `npm run check:types` checks types, and `npm run build:types` writes them before the
// package is packed.
import { copyFile, readdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { joinFiles } from './join-files.mjs'
import { joinedPackages } from './joined-packages.mjs'
import { lateParts } from './late-parts.mjs'
import { rehearse } from './rehearse.mjs'
import { writeDocs } from './write-docs.mjs'
import { writeSchema } from './write-schema.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const common = {
  absWorkingDir: root,
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  logLevel: 'warning',
}
/** Source maps for coverage and stack traces of developers; not in the package. */
const mapped = { sourcemap: 'linked', sourcesContent: false }

/** Removes files of an earlier build that this one does not write; file names contain a content hash. */
const removeOthers = async written => {
  const folder = new URL('../dist/', import.meta.url)
  for (const name of await readdir(folder, { recursive: true })) {
    const path = `dist/${name.replaceAll('\\', '/')}`
    const isWritten = written.some(output => output === path || output.startsWith(`${path}/`))
    if (!isWritten && !path.endsWith('.d.ts'))
      await rm(new URL(`../${path}`, import.meta.url), { recursive: true, force: true })
  }
}

const PREACT = fileURLToPath(import.meta.resolve('preact'))

/** Builds the `/ui` page for browsers: a script, a style sheet, and their HTML. Returns the written files. */
const writePage = async () => {
  const { metafile } = await build({
    ...common,
    ...mapped,
    platform: 'browser',
    target: 'es2022',
    packages: 'bundle',
    entryPoints: ['src/ui/main.tsx', 'src/ui/app.css'].map(path => ({ in: path, out: 'app' })),
    outdir: 'dist/ui',
    // Calls of `h` are shorter than calls of the automatic runtime, which name each "children".
    tsconfigRaw: { compilerOptions: { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'Fragment' } },
    inject: [PREACT],
    minify: true,
    charset: 'utf8',
    banner: { js: '/* Preact, Jason Miller and others, MIT */' },
    metafile: true,
  })
  const copied = ['index.html', 'icon.svg']
  const here = import.meta.url
  for (const name of copied)
    await copyFile(new URL(`../src/ui/${name}`, here), new URL(`../dist/ui/${name}`, here))
  return [...Object.keys(metafile.outputs), ...copied.map(name => `dist/ui/${name}`)]
}

const ASKING = ['part:telling', 'part:asking']
const SERVING = [
  'part:asking',
  'part:serve',
  'src/telemetry/logs/logger.ts',
  'part:small',
  'src/app/proxy.ts',
  'src/app/dialer.ts',
]
const OTHERS = [
  'part:small',
  'part:verbs',
  'part:config',
  'part:doctor',
  'part:setup',
  'src/cli/command-line.ts',
]
/** Entry points whose files are loaded together. */
const TOGETHER = [
  // Every verb.
  [['src/cli/main.ts']],
  [ASKING, SERVING],
  [SERVING, OTHERS],
  [SERVING],
  // For configurations from a file and for clients over HTTP; first the files that other parts also need.
  [['part:config'], ['part:http', 'part:telling']],
  [['part:config']],
  [['part:http']],
  // For servers over HTTP, without the files that verbs also need: they would load all of it.
  [['part:fetch'], OTHERS],
  [['part:fetch']],
]

await writeSchema()
await writeDocs()
const { metafile } = await build({
  ...common,
  ...mapped,
  entryPoints: {
    index: 'src/index.ts',
    'cli/main': 'src/cli/main.ts',
    'windows-guard': 'src/transport/process/windows-guard-main.ts',
  },
  // Keeps lazily loaded code in separate files, named by content hash: a proxy that runs while an update is
  // installed finds its own files or none (src/kernel/late-module.ts), and never the new ones.
  splitting: true,
  outdir: 'dist',
  chunkNames: 'part-[hash]',
  plugins: [joinedPackages, lateParts],
  // V8 keeps the source text of loaded code, in two bytes per character if any needs them: comments cost 1
  // MiB.
  minify: true,
  metafile: true,
})
const files = await joinFiles(metafile.outputs, TOGETHER, { ...common, ...mapped, minify: true })
await removeOthers([...files, ...(await writePage())])
await rehearse()
// As one CommonJS file, the shim starts in half the time, because Node does not load its module loader.
await build({
  ...common,
  ...mapped,
  entryPoints: ['src/shim/entry.ts'],
  outfile: 'bin/connect.cjs',
  format: 'cjs',
  minify: true,
  keepNames: false,
  banner: { js: '#!/usr/bin/env node' },
})
