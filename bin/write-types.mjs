// Writes dist/index.d.ts, the types of the package: `npm run build:types`.
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { generateDtsBundle } from 'dts-bundle-generator'

const pathOf = name => fileURLToPath(new URL(`../${name}`, import.meta.url))

/** Reduces tables to their keys if the types use only these: the table of all causes has 37 kB of texts. */
const onlyKeys = types =>
  types.replace(/^declare const (\w+): (\{\n.*?^\});$/gms, (table, name, rows) => {
    if (new RegExp(`(?<!keyof )typeof ${name}\\b`).test(types)) return table
    const keys = Array.from(rows.matchAll(/^\t(?:readonly )?"?([^"\s:]+)"?:/gm), ([, key]) =>
      JSON.stringify(key),
    )
    return `declare const ${name}: Record<${keys.join(' | ')}, unknown>;`
  })

const [types] = generateDtsBundle(
  [{ filePath: pathOf('src/index.ts'), output: { exportReferencedTypes: false } }],
  { preferredConfigPath: pathOf('tsconfig.json') },
)
await writeFile(pathOf('dist/index.d.ts'), onlyKeys(types))
