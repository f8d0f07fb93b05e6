// Three replicas in front of the fixture that is named, behind a balancer that goes round; prints its URL.
// Ends with its input, and all that it started with it. Needs redis-server.
import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startRoundRobin } from '../fixtures/round-robin.mjs'

const [fixture] = process.argv.slice(2)
const PROXY = fileURLToPath(new URL('../../bin/mcp-proxy.js', import.meta.url))

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise(resolve => server.close(resolve))
  return String(port)
}

const port = await freePort()
const redis = spawn('redis-server', ['--port', port, '--bind', '127.0.0.1', '--save', ''], {
  stdio: 'ignore',
})
const folder = mkdtempSync(join(tmpdir(), 'mcp-proxy-replicas-'))
const children = [redis]
const end = () => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  process.exit(0)
}
process.stdin.resume().once('end', end)
process.once('SIGTERM', end)

while (!spawnSync('redis-cli', ['-p', port, 'ping']).stdout.toString().startsWith('PONG')) await delay(50)

const file = join(folder, 'mcp.json')
const config = {
  mcpServers: { s: { command: process.execPath, args: [fixture, 'stdio'], prefix: false, uris: 'preserve' } },
  cluster: {
    url: `redis://127.0.0.1:${port}`,
    keys: [randomBytes(32).toString('base64')],
    peer: { listen: '127.0.0.1:0' },
  },
}
writeFileSync(file, JSON.stringify(config))

const startReplica = n =>
  new Promise(resolve => {
    const state = join(folder, String(n))
    const env = { ...process.env, XDG_STATE_HOME: state, MCP_PROXY_RUN_DIR: join(state, 'run') }
    const args = [PROXY, 'serve', '--port', '0', '--config', file]
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
    children.push(child)
    createInterface({ input: child.stdout }).on('line', line => {
      const url = /http:\/\/\S+\/mcp/.exec(line)?.[0]
      if (url !== undefined) resolve(new URL(url))
    })
  })

const replicas = await Promise.all([1, 2, 3].map(startReplica))
const knowsAll = async url =>
  (await (await fetch(new URL('/status', url))).json()).cluster.members.length === replicas.length
for (const url of replicas) while (!(await knowsAll(url))) await delay(100)
console.log((await startRoundRobin(replicas)).url)
