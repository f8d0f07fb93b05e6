// Generates files from the configuration schema (src/config/schema): the JSON Schema for editors, the code
// that checks a file, and the types, defaults and reload classes of settings. Part of `npm run build`.
import { rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'
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
      contents: "export * from './json-schema.ts'; export * from './settings-code.ts'",
      resolveDir: fileURLToPath(new URL('../src/config/schema', import.meta.url)),
    },
    outfile: module,
  })
  const { jsonSchemaText, createCheckedSchemas, createKeys, documentedSchema, settingsCode } = await import(
    module
  )
  await rm(module)
  await writeFile(
    new URL('../src/config/schema/settings.generated.ts', import.meta.url),
    settingsCode(documentedSchema()),
  )
  await writeFile(new URL('../config/mcp-proxy.schema.json', import.meta.url), jsonSchemaText())
  // Separate from the validator, which is long: a bridge reads no file but checks keys of its own.
  const keys = new URL('../src/config/schema/keys.generated.js', import.meta.url)
  await writeFile(keys, `export const KEYS = ${JSON.stringify(createKeys())}\n`)
  await build({
    ...common,
    packages: 'bundle',
    stdin: { contents: validatorCode(createCheckedSchemas()), resolveDir: root },
    outfile: 'src/config/schema/validate.generated.js',
  })
}

/**
 * Returns a module that exports a validator per schema. Its errors include the violated schema (`verbose`).
 */
const validatorCode = schemas => {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    messages: false,
    unicodeRegExp: false,
    inlineRefs: false,
    allowUnionTypes: true,
    keywords: ['fix'],
    code: { source: true, esm: true },
  })
  const names = new Map()
  // Generates one function per object and union: most occur in two or more places.
  const share = schema => {
    if (typeof schema !== 'object' || schema === null) return schema
    if (Array.isArray(schema)) return schema.map(share)
    const shared = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, share(value)]))
    if (schema.type !== 'object' && schema.anyOf === undefined) return shared
    const text = JSON.stringify(shared)
    if (!names.has(text)) {
      names.set(text, `s${names.size}`)
      ajv.addSchema(shared, names.get(text))
    }
    return { $ref: names.get(text) }
  }
  const entries = Object.entries(schemas).map(([name, schema]) => [name, share(schema).$ref])
  return shorter(standalone.default(ajv, Object.fromEntries(entries)))
}

/** Removes what `validate.ts` does not read from the errors, a quarter of the code. */
const shorter = code =>
  code
    .replace(/schemaPath:"(?:[^"\\]|\\.)*",/g, '')
    .replace(/,schema:[^\n]*?,parentSchema:/g, ',parentSchema:')
    .replace(
      /if\(vErrors === null\)\{vErrors = \[(err\d+)\];\}else \{vErrors\.push\(\1\);\}/g,
      '(vErrors ??= []).push($1);',
    )

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeSchema()
