// The client that the official conformance suite starts for its scenarios about authorization: a client of
// `mcp-proxy stdio`. Where a server wants a login it signs in by `mcp-proxy auth login`, with a browser that
// only follows redirects, and calls again. `node auth-client.mjs <url>`; the scenario and what is registered
// for it come from the suite.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const url = process.argv.at(-1)
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))

const file = (name, text) => {
  if (text !== undefined) writeFileSync(join(folder, name), text)
  return text === undefined ? undefined : `./${name}`
}

const grantOf = name => {
  if (name.startsWith('auth/client-credentials')) return 'client_credentials'
  if (/^auth\/(?:enterprise|cross-app)/.test(name)) return 'id-jag'
  return name.startsWith('auth/wif') ? 'jwt-bearer' : undefined
}

const grant = grantOf(scenario)
const oauth = {
  grant,
  clientId: given.client_id,
  clientSecret: given.client_secret,
  key: file('key.pem', given.private_key_pem),
  assertion: file('workload.jwt', given.valid_jwt),
  dpop: scenario.startsWith('auth/dpop') ? true : undefined,
  clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
}
if (grant === 'id-jag') {
  const { idp_issuer: issuer, idp_client_id: clientId, idp_id_token: token } = given
  oauth.idp = { issuer, clientId, idToken: file('id-token.jwt', token) }
}
// However slow the machine is, the first list knows what the server wants.
const settings = { startupWait: '20s', mcpServers: { suite: { url, oauth } } }
const config = join(folder, file('mcp.json', JSON.stringify(settings)))

const env = {
  ...process.env,
  BROWSER: here('../fixtures/browser.mjs'),
  [process.platform === 'win32' ? 'LOCALAPPDATA' : 'XDG_STATE_HOME']: folder,
  MCP_PROXY_RUN_DIR: join(folder, 'run'),
}
const argv = (...args) => [here('../../bin/mcp-proxy.js'), ...args, '--config', config]

const proxy = spawn(process.execPath, argv('stdio'), { env, stdio: ['pipe', 'pipe', 'inherit'] })
const waiting = new Map()
createInterface({ input: proxy.stdout }).on('line', line => {
  const message = JSON.parse(line)
  waiting.get(message.id)?.(message)
})
const send = message => proxy.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
let last = 0
const ask = (method, params = {}) => {
  last += 1
  const answer = new Promise(resolve => waiting.set(last, resolve))
  send({ id: last, method, params })
  return answer
}

const logIn = () => {
  const options = { env, encoding: 'utf8', timeout: 25_000 }
  const { status, stdout, stderr } = spawnSync(process.execPath, argv('auth', 'login', 'suite'), options)
  process.stderr.write(stdout + stderr)
  return status === 0
}

/** Signs in as often as that is wanted and can be done: the proxy ends what goes on for ever. */
const askSignedIn = async (method, params) => {
  for (;;) {
    const answer = await ask(method, params)
    const reason = answer.error?.data?.reason
    if ((reason !== 'needs-auth' && reason !== 'insufficient-scope') || !logIn()) return answer
  }
}

const clientInfo = { name: 'auth-client', version: '1' }
await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
send({ method: 'notifications/initialized' })
const { result } = await askSignedIn('tools/list')
for (const { name } of result?.tools ?? []) await askSignedIn('tools/call', { name, arguments: {} })
proxy.once('exit', () => rmSync(folder, { recursive: true, force: true }))
proxy.stdin.end()
