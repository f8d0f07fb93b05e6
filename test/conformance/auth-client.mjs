// The client that the official conformance suite starts for its scenarios about authorization: the command
// line of the proxy, which signs in where the suite's server wants it, with a browser that only follows
// redirects. `node auth-client.mjs <url>`; the scenario and what is registered for it come from the suite.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  if (name.startsWith('auth/enterprise')) return 'id-jag'
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
const config = file('mcp.json', JSON.stringify({ mcpServers: { suite: { url, oauth, prefix: false } } }))

const env = {
  ...process.env,
  BROWSER: here('../fixtures/browser.mjs'),
  [process.platform === 'win32' ? 'LOCALAPPDATA' : 'XDG_STATE_HOME']: folder,
}
const run = (...args) => {
  const all = [here('../../bin/mcp-proxy.js'), ...args, '--login', '--config', join(folder, config)]
  const { stdout, stderr } = spawnSync(process.execPath, all, { env, encoding: 'utf8', timeout: 25_000 })
  process.stderr.write(stderr)
  return stdout
}

const { tools } = JSON.parse(run('list', '--json') || '{"tools":[]}')
for (const { name } of tools) run('call', name)
rmSync(folder, { recursive: true, force: true })
