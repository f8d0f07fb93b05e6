// The client that the official conformance suite starts: a proxy in front of the suite's server, used by an
// official client. What the suite sees is how the proxy speaks to servers. `node client.mjs <url>`;
// CONFORMANCE_CLIENT is the era of the official client (legacy, modern), the scenario and its wishes come
// from the suite in MCP_CONFORMANCE_SCENARIO and MCP_CONFORMANCE_CONTEXT.
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const PROXY = fileURLToPath(new URL('../../bin/mcp-proxy.js', import.meta.url))
const url = process.argv.at(-1)
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const { toolCalls } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const mode = process.env.CONFORMANCE_CLIENT === 'modern' ? { pin: '2026-07-28' } : 'legacy'

/** Tells the era of the proxy on the connection itself, instead of in a second process. */
class InPlace extends StdioClientTransport {}

const VALUES = { string: 'test', number: 5, integer: 5, boolean: true, object: {}, array: [] }

/** Arguments that a schema allows. */
const argumentsFor = ({ properties = {}, required = [] }) =>
  Object.fromEntries(required.map(name => [name, VALUES[properties[name]?.type] ?? 'test']))

const client = new Client(
  { name: 'conformance-client', version: '1.0.0' },
  {
    capabilities: { elicitation: { form: { applyDefaults: true } }, sampling: {}, roots: {} },
    versionNegotiation: { mode },
  },
)
client.setRequestHandler('elicitation/create', async ({ params }) => {
  const { properties } = params.requestedSchema
  const content = Object.entries(properties).flatMap(([name, { type, default: value }]) =>
    scenario.includes('defaults') || value !== undefined ? [] : [[name, VALUES[type]]],
  )
  return { action: 'accept', content: Object.fromEntries(content) }
})
client.setRequestHandler('sampling/createMessage', async () => ({
  role: 'assistant',
  content: { type: 'text', text: 'a sample' },
  model: 'test',
}))
client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///here', name: 'here' }] }))

const args = [PROXY, 'bridge', '--to', 'stdio', url]
// The SDK would pass on a few variables only, not the state folder of this scenario.
const { env } = process
await client.connect(new InPlace({ command: process.execPath, args, env, stderr: 'inherit' }))
const { tools } = await client.listTools()
const calls =
  toolCalls ?? tools.map(({ name, inputSchema }) => ({ name, arguments: argumentsFor(inputSchema) }))
// Calls of a test are made at the same time, as some are about each other. A tool may fail: that is its own
// business.
if (!scenario.startsWith('json-schema')) await Promise.allSettled(calls.map(call => client.callTool(call)))
const has = client.getServerCapabilities() ?? {}
if (has.resources !== undefined) {
  const { resources } = await client.listResources()
  for (const { uri } of resources) await client.readResource({ uri })
}
if (has.prompts !== undefined) {
  const { prompts } = await client.listPrompts()
  for (const { name } of prompts) await client.getPrompt({ name })
}
await client.close()
