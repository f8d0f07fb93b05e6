import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unzipSync } from 'fflate'
import t from 'tap'
import { readBundle } from '../../src/setup/add/bundle.js'
import { INITIALIZE, setEnv, startBin, tiny } from '../support/proxy/start.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

t.test('the bundle for clients starts a proxy with its own files', async t => {
  const folder = t.testdir({ run: {}, 'mcp.json': JSON.stringify({ mcpServers: { shop: tiny() } }) })
  const file = join(folder, 'proxy.mcpb')
  const { status, stderr } = spawnSync(process.execPath, ['bin/write-bundle.mjs', file], { cwd: root })
  t.equal(status, 0, String(stderr))

  const bytes = readFileSync(file)
  const files = unzipSync(bytes)
  const manifest = JSON.parse(Buffer.from(files['manifest.json'] ?? []).toString())
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  t.match(manifest, { manifest_version: '0.3', name: 'mcp-proxy-daemon', version })
  t.ok(Object.hasOwn(files, manifest.server.entry_point))
  t.match(readBundle(file, bytes, folder), { name: 'mcp-proxy-daemon', inputs: [] })

  // The daemon writes compiled code to its folder, also after its socket has closed.
  const place = mkdtempSync(join(tmpdir(), 'mcp-bundle-'))
  t.teardown(() => rm(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(place, name)), { recursive: true })
    writeFileSync(join(place, name), content)
  }
  setEnv(t, { MCP_PROXY_RUN_DIR: join(folder, 'r'), HOME: folder, USERPROFILE: folder })
  const [entry = ''] = manifest.server.mcp_config.args
  const bin = entry.replace('${__dirname}', place)
  const config = ['--config', join(folder, 'mcp.json')]
  const client = startBin(t, config, { bin })
  client.send(INITIALIZE, { method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
  t.match(await client.line(/"id":2/), /shop__echo/)
  client.child.stdin?.end()
  await client.exited
  const stopped = startBin(t, ['daemon', 'stop', ...config], { bin: join(place, 'server/bin/mcp-proxy.js') })
  t.equal(await stopped.exited, 0, stopped.err)
})
