// Runs the built proxy once, for bin/build.mjs: services cache the code that V8 compiles for them
// (bin/parts.cjs), so the first real start finds it.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./mcp-proxy.js', import.meta.url))

/** If the rehearsal fails, only the first real start takes longer. */
const LIMIT_MS = 15_000

const REQUESTS = [
  {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'build', version: '0' } },
  },
  { method: 'notifications/initialized' },
  { id: 2, method: 'tools/list' },
]

/** A program with tools that speaks a revision with a handshake, as most servers do. */
const SERVER = `
const text = { type: 'string', description: 'A text' }
const tags = { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }
const inputSchema = { type: 'object', properties: { text, tags, more: { type: 'object' } }, required: ['text'] }
const outputSchema = { type: 'object', properties: { text } }
const annotations = { title: 'Does it', readOnlyHint: true }
const tools = ['one', 'two', 'three'].map(name => ({
  name, title: name, description: 'Does ' + name, inputSchema, outputSchema, annotations,
}))
const results = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'build', version: '0' },
  },
  'tools/list': { tools },
}
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const result = results[method]
  const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})`

/**
 * Starts the proxy. `said` resolves with the first result of `find` in an output line, or undefined at the
 * end.
 */
const start = (args, folder, find) => {
  const env = { ...process.env, MCP_PROXY_RUN_DIR: join(folder, 'run') }
  for (const name of ['HOME', 'USERPROFILE', 'XDG_STATE_HOME', 'LOCALAPPDATA']) env[name] = folder
  const options = { env, stdio: ['pipe', 'pipe', 'ignore'], timeout: LIMIT_MS }
  const child = spawn(process.execPath, [program, ...args], options)
  child.stdin.on('error', () => undefined)
  const gone = new Promise(resolve => child.once('exit', () => resolve(undefined)))
  const found = new Promise(resolve => {
    createInterface({ input: child.stdout }).on('line', line => find(line) && resolve(find(line)))
  })
  return { child, gone, said: Promise.race([found, gone]) }
}

/** Runs a client on stdio, a proxy, another client over HTTP, and two servers. */
export async function rehearse() {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-proxy-build-'))
  const file = join(folder, 'mcp-proxy.json')
  const server = { command: process.execPath, args: ['-e', SERVER] }
  await writeFile(file, JSON.stringify({ mcpServers: { one: server, other: server } }))
  const serve = start(
    ['serve', '--port', '0', '--config', file],
    folder,
    line => /http:\S+\/mcp\b/.exec(line)?.[0],
  )
  const url = await serve.said
  if (url !== undefined) {
    const bridge = start(['bridge', '--to', 'stdio', url], folder, line => line.includes('"id":2'))
    for (const request of REQUESTS)
      bridge.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...request })}\n`)
    await bridge.said
    bridge.child.stdin.end()
    await bridge.gone
  }
  serve.child.kill()
  await serve.gone
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}
