// Builds the package: `npm run build`. The modules are joined into a few files, because Node resolves, opens,
// compiles and links each module by itself, which is half of what it takes to start the proxy
// (docs/performance.md). Types are checked by `npm run check:types`, and written by `npm run build:types`
// before the package is packed.
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
/** For coverage and stack traces of whoever builds it; not in the package. */
const mapped = { sourcemap: 'linked', sourcesContent: false }

/**
 * Removes the files of an earlier build that this one does not write: they are named after what they hold.
 */
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

/** The page `/ui`, for browsers: a script, a style sheet, and what leads to them. Returns what it wrote. */
const writePage = async () => {
  const { metafile } = await build({
    ...common,
    ...mapped,
    platform: 'browser',
    target: 'es2022',
    packages: 'bundle',
    entryPoints: ['src/ui/main.tsx', 'src/ui/app.css'].map(path => ({ in: path, out: 'app' })),
    outdir: 'dist/ui',
    // Calls of `h` are shorter than those of the automatic runtime, which name each "children".
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
/** What is loaded together, by whom. */
const TOGETHER = [
  // Every verb.
  [['src/cli/main.ts']],
  [ASKING, SERVING],
  [SERVING, OTHERS],
  [SERVING],
  // A file is read, or clients come over HTTP; first what others need of it too.
  [['part:config'], ['part:http', 'part:telling']],
  [['part:config']],
  [['part:http']],
  // Servers are reached over HTTP.
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
  // What is loaded later, or not at all, stays in files of its own. They are named after what they hold: a
  // proxy that runs while another version is installed in its place finds its own, or none
  // (src/kernel/late-module.ts), and never those of the other.
  splitting: true,
  outdir: 'dist',
  chunkNames: 'part-[hash]',
  plugins: [joinedPackages, lateParts],
  // V8 keeps the text of what it has loaded, in two bytes a character if any needs them: comments cost 1 MiB.
  minify: true,
  metafile: true,
})
const files = await joinFiles(metafile.outputs, TOGETHER, { ...common, ...mapped, minify: true })
await removeOthers([...files, ...(await writePage())])
await rehearse()
// The shim starts in half the time as one CommonJS file, which Node loads without its loader of modules.
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
