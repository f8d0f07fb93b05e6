// Builds the package: `npm run build`. The modules are joined into a few files, because Node resolves, opens, compiles and links each
// module by itself, which is half of what it takes to start the proxy (docs/performance.md). Types are checked by `npm run check:types`,
// and written by `npm run build:types` before the package is packed.
import { readdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

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

/** The schema that editors read, from the one that the configuration is checked by. */
const writeSchema = async () => {
  const module = fileURLToPath(new URL('../dist/json-schema.mjs', import.meta.url))
  await build({ ...common, entryPoints: ['src/config/schema/json-schema.ts'], outfile: module })
  const { jsonSchemaText } = await import(module)
  await rm(module)
  await writeFile(new URL('../config/mcp-proxy.schema.json', import.meta.url), jsonSchemaText())
}

/** Removes the files of an earlier build that this one does not write: they are named after what they hold. */
const removeOthers = async outputs => {
  const folder = new URL('../dist/', import.meta.url)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.endsWith('.d.ts') || `dist/${entry.name}` in outputs) continue
    await rm(new URL(entry.name, folder), { recursive: true })
  }
}

await writeSchema()
const { metafile } = await build({
  ...common,
  entryPoints: {
    index: 'src/index.ts',
    cli: 'src/cli/main.ts',
    'windows-guard': 'src/transport/process/windows-guard-main.ts',
  },
  // What is loaded later, or not at all, stays in files of its own. They are named after what they hold: a proxy that runs while another
  // version is installed in its place finds its own, or none (src/app/late-module.ts), and never those of the other.
  splitting: true,
  outdir: 'dist',
  chunkNames: 'part-[hash]',
  // V8 keeps the text of what it has loaded, in two bytes a character if any needs them: comments cost 1 MiB.
  minifyWhitespace: true,
  metafile: true,
})
await removeOthers(metafile.outputs)
