// Generates files from the configuration schema (src/config/schema): the JSON Schema for editors, the schemas
// that a file is checked against, and the types, defaults and reload classes of settings. Part of
// `npm run build`.
import { rm, writeFile } from 'node:fs/promises'
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

/** Writes all files generated from the schema: for editors, for validation, and for the settings. */
export const writeSchema = async () => {
  const module = fileURLToPath(new URL('../dist/json-schema.mjs', import.meta.url))
  await build({
    ...common,
    stdin: {
      contents: ['json-schema', 'settings-code'].map(name => `export * from './${name}.ts'`).join('\n'),
      resolveDir: fileURLToPath(new URL('../src/config/schema', import.meta.url)),
    },
    outfile: module,
  })
  const { jsonSchemaText, createCheckedSchemas, createKeys, documentedSchema, settingsCode } = await import(
    module
  )
  await rm(module)
  const write = (name, text) => writeFile(new URL(`../${name}`, import.meta.url), text)
  await write('src/config/schema/settings.generated.ts', settingsCode(documentedSchema()))
  await write('config/mcp-proxy.schema.json', jsonSchemaText())
  // Separate from the schemas, which are long: a bridge reads no file but checks keys of its own.
  await write('src/config/schema/keys.generated.js', `export const KEYS = ${JSON.stringify(createKeys())}\n`)
  await write('src/config/schema/schemas.generated.js', schemasCode(createCheckedSchemas()))
}

/**
 * Returns a module that exports the schemas. An object or list that occurs in several places is written once.
 */
const schemasCode = schemas => {
  const counts = new Map()
  const count = value => {
    if (typeof value !== 'object' || value === null) return
    const text = JSON.stringify(value)
    counts.set(text, (counts.get(text) ?? 0) + 1)
    if (counts.get(text) === 1) for (const member of Object.values(value)) count(member)
  }
  count(schemas)
  const names = new Map()
  const lines = []
  const codeOf = value => {
    const text = JSON.stringify(value)
    if (!(counts.get(text) > 1)) return literalOf(value)
    if (!names.has(text)) {
      const literal = literalOf(value)
      names.set(text, `s${names.size}`)
      lines.push(`const ${names.get(text)} = ${literal}`)
    }
    return names.get(text)
  }
  const literalOf = value => {
    if (Array.isArray(value)) return `[${value.map(codeOf).join()}]`
    if (typeof value !== 'object' || value === null) return JSON.stringify(value)
    return `{${Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${codeOf(member)}`)}}`
  }
  const code = codeOf(schemas)
  return `${lines.join('\n')}\nexport const SCHEMAS = ${code}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeSchema()
