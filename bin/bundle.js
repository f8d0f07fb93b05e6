// Joins the modules of the command line into a few files; the last step of `npm run build`. Node resolves, opens, compiles and links each
// module by itself, which is half of what it takes to start the proxy (docs/performance.md). After `tsc` alone, the same program is there
// in many files.
import { readdir, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = new URL('../dist/cli/', import.meta.url)
const PART = 'part-'

for (const name of await readdir(folder)) if (name.startsWith(PART)) await rm(new URL(name, folder))
await build({
  absWorkingDir: root,
  entryPoints: ['src/cli/main.ts'],
  bundle: true,
  // What is loaded later, or not at all, stays in files of its own. They are named after what they hold: a proxy that runs while another
  // version is installed in its place finds its own, or none (src/app/late-module.ts), and never those of the other.
  splitting: true,
  // In the folder of the entry, so that paths relative to a module are right wherever it comes to lie.
  outdir: 'dist/cli',
  chunkNames: `${PART}[hash]`,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // V8 keeps the text of what it has loaded, in two bytes a character if any needs them: comments cost 1 MiB.
  minifyWhitespace: true,
  sourcemap: 'linked',
  sourcesContent: false,
  logLevel: 'warning',
})
