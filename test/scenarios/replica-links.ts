import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { type Daemon, rawServer, startDaemon } from '../support/proxy/start.js'
import { noRedis, startRedis } from '../support/redis.js'

const noOpenssl = spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed here'

/** Files of an authority, and of a certificate for 127.0.0.1 that it signed. */
const certificates = (t: Test) => {
  // The folder of the test is that of its configurations.
  const folder = mkdtempSync(join(tmpdir(), 'mcp-proxy-tls-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string): string => join(folder, name)
  const openssl = (...args: string[]): void => {
    const { status, stderr } = spawnSync('openssl', args, { cwd: folder })
    if (status !== 0) throw new Error(stderr.toString())
  }
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  writeFileSync(file('names'), 'subjectAltName=IP:127.0.0.1\n')
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=ca')
  openssl('req', ...newKey, '-keyout', 'own.key', '-out', 'own.csr', '-subj', '/CN=own')
  const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2']
  openssl('x509', '-req', '-in', 'own.csr', '-out', 'own.pem', ...signer)
  return { cert: file('own.pem'), key: file('own.key'), ca: file('ca.pem') }
}

interface Status {
  readonly cluster: { readonly members: readonly { readonly address: string; readonly isSelf: boolean }[] }
}

const membersOf = async ({ url }: Daemon) =>
  ((await (await fetch(new URL('/status', url))).json()) as Status).cluster.members

t.test('replicas with certificates talk in TLS alone', { skip: noRedis || noOpenssl }, async t => {
  const tls = certificates(t)
  const redis = await startRedis(t)
  const keys = [randomBytes(32).toString('base64')]
  const cluster = { url: redis.url, keys, peer: { listen: '127.0.0.1:0', tls }, linger: '0s' }
  const start = (): Promise<Daemon> =>
    startDaemon(t, { s: rawServer('canary-server') }, { cluster, knownServers: false })
  const [one, other] = [await start(), await start()]
  t.teardown(() => Promise.all([one.stop(), other.stop()]))
  await until(async () => (await membersOf(one)).length === 2, 'two members')

  const near = new RawClient(one.url)
  await near.initialize()
  const far = new RawClient(other.url)
  far.session = near.session
  const { last } = await far.call(1, 's__echo', '{"n":1}')
  t.match(JSON.stringify(last.message), /\\"n\\":1/)
  const self = (await membersOf(one)).find(({ isSelf }) => isSelf)
  await t.rejects(fetch(`http://${self?.address}/peer`), 'nobody comes in without TLS')
  await t.rejects(fetch(`https://${self?.address}/peer`), 'nor without a certificate')
})
