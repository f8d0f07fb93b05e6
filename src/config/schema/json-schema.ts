import { draftSchema } from './schema.js'

/** The JSON Schema of a configuration file, for editors; `config/mcp-proxy.schema.json` holds its text. */
export function createJsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...rest } = draftSchema()
  return {
    $schema,
    $id: 'urn:mcp-proxy-daemon:config',
    title: 'Configuration of mcp-proxy',
    description: 'The servers behind one MCP proxy, and how the proxy shows them.',
    ...rest,
  }
}

/** The text of that schema as it stands in its file. */
export const jsonSchemaText = (): string => `${JSON.stringify(createJsonSchema(), null, 2)}\n`
