import { readFileSync } from 'node:fs'
import t from 'tap'
import { createJsonSchema, jsonSchemaText } from '../../../src/config/schema/json-schema.js'

type Described = {
  description?: string
  properties?: Record<string, Described>
  additionalProperties?: Described
  anyOf?: Described[]
}

t.test('the schema that is shipped is the one of the source', async t => {
  const file = new URL('../../../config/mcp-proxy.schema.json', import.meta.url)
  t.equal(readFileSync(file, 'utf8'), jsonSchemaText(), 'npm run build writes it')
})

t.test('the schema has a name and a dialect that editors know', async t => {
  t.match(createJsonSchema(), {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'urn:mcp-proxy-daemon:config',
    title: 'Configuration of mcp-proxy',
    required: ['mcpServers'],
  })
})

t.test('an editor can explain every key', async t => {
  let keys = 0
  const walk = (schema: Described, path: string): void => {
    for (const [key, member] of Object.entries(schema.properties ?? {})) {
      keys++
      t.match(member.description, /\.$/, `${path}.${key}`)
      walk(member, `${path}.${key}`)
    }
    for (const form of schema.anyOf ?? []) walk(form, path)
    if (typeof schema.additionalProperties === 'object') walk(schema.additionalProperties, `${path}.*`)
  }
  walk(createJsonSchema() as Described, '$')
  t.ok(keys > 40, `${keys} keys`)
})
