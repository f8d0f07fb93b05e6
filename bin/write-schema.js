// Writes config/mcp-proxy.schema.json from the compiled schema; the last step of `npm run build`.
import { writeFile } from 'node:fs/promises'
import { jsonSchemaText } from '../dist/config/schema/json-schema.js'

await writeFile(new URL('../config/mcp-proxy.schema.json', import.meta.url), jsonSchemaText())
