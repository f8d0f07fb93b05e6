import t from 'tap'
import { diffConfigs } from '../../../src/config/diff.js'
import { parseConfig } from '../../../src/config/parse.js'
import { secretsOf } from '../../../src/config/read/secrets.js'

const KEY = Buffer.alloc(32, 7).toString('base64')
const FINE = { url: 'redis://a:secret-word@redis:6379', keys: [KEY], peer: { listen: '10.0.0.1:8809' } }

const AUTH = {
  people: {
    ann: { tokens: [{ hash: 'sha256:49915e0d7d4b402e3017d010bc1c0e83cac6c797d6c16e66340fe3268693a6a1' }] },
  },
}

const read = (cluster: unknown, env = {}) => {
  const text = JSON.stringify({ mcpServers: { a: { command: 'a' } }, cluster, auth: AUTH })
  const { config, problems } = parseConfig(text, '/etc/f.json', env)
  return { config, problems: problems.map(({ key, message }) => `${key}: ${message}`) }
}

t.test('a cluster has defaults, variables, and files relative to the configuration', async t => {
  t.equal(read(undefined).config?.cluster, undefined)
  t.same(read(FINE).config?.cluster, {
    url: FINE.url,
    keys: [KEY],
    peer: { listen: { host: '10.0.0.1', port: 8809 }, advertise: undefined, tls: undefined },
    leaseMs: 6000,
    lingerMs: 5000,
    prefix: 'mp',
  })
  const peer = {
    listen: '0.0.0.0:8809',
    advertise: '${IP}:8809',
    tls: { cert: 'c.pem', key: '/k.pem', ca: 'ca.pem' },
  }
  const { config, problems } = read(
    { ...FINE, keys: ['${KEY}'], peer, lease: '3s', linger: 0, prefix: 'x' },
    { IP: '10.0.0.7', KEY },
  )
  t.same(problems, [])
  t.match(config?.cluster, {
    keys: [KEY],
    peer: {
      advertise: { host: '10.0.0.7', port: 8809 },
      tls: { cert: '/etc/c.pem', key: '/k.pem', ca: '/etc/ca.pem' },
    },
    leaseMs: 3000,
    lingerMs: 0,
    prefix: 'x',
  })
})

t.test('replicas without auth are warned that all clients are one principal', t => {
  const text = JSON.stringify({ mcpServers: { a: { command: 'a' } }, cluster: FINE })
  const { config, problems } = parseConfig(text, '/etc/f.json', {})
  t.ok(config?.cluster)
  t.match(problems, [
    { severity: 'warning', key: 'cluster', message: /without "auth", all clients are one principal/ },
  ])
  t.equal(problems.length, 1)
  t.end()
})

t.test('a mistake in it makes the file unusable, with its place', async t => {
  const rows: readonly (readonly [unknown, string])[] = [
    [true, 'cluster: expected an object, found true'],
    [{ ...FINE, url: 'http://redis' }, 'cluster.url: this is not the address of a Redis or Valkey'],
    [{ ...FINE, url: 'redis+cluster://a,b' }, 'cluster.url: Redis Cluster and Sentinel are not supported'],
    [{ ...FINE, url: 'redis+sentinel://a,b/n' }, 'cluster.url: Redis Cluster and Sentinel are not supported'],
    [{ ...FINE, keys: ['short'] }, 'cluster.keys.0: this is not a key of 32 bytes'],
    [{ ...FINE, keys: [] }, 'cluster.keys: the replicas need a key in common'],
    [{ ...FINE, keys: ['${NONE}'] }, 'cluster.keys.0: the variable NONE is not set'],
    [{ ...FINE, peer: {} }, 'cluster.peer: "listen" is missing here'],
    [{ ...FINE, peer: { listen: '8809' } }, 'cluster.peer.listen: this is not an address with a port'],
    [
      { ...FINE, peer: { listen: '0.0.0.0:8809' } },
      'cluster.peer.listen: the other replicas cannot connect to a wildcard address',
    ],
    [{ ...FINE, lease: '10ms' }, 'cluster.lease: this duration is too short'],
    [{ ...FINE, prefix: 'a b' }, 'cluster.prefix'],
  ]
  for (const [given, problem] of rows) {
    const { config, problems } = read(given)
    t.equal(config, undefined, problem)
    t.equal(problems.length, 1, JSON.stringify(problems))
    t.ok(`${problems[0]}`.startsWith(problem.split(':')[0] ?? ''), `${problems[0]}`)
    if (problem.includes(': ')) t.equal(problems[0], problem)
  }
  t.match(read({ ...FINE, resumes: 1 }).problems, ['cluster.resumes: unknown key, ignored'])
})

t.test('its secrets are known as such, and it changes with a restart alone', async t => {
  const { config } = read(FINE)
  const { config: other } = read({ ...FINE, prefix: 'other' })
  if (config === undefined || other === undefined) throw new Error('unusable')
  const secrets = secretsOf(config)
  t.ok(secrets.includes(KEY))
  t.ok(secrets.includes('secret-word'))
  t.same(diffConfigs(config, other).needRestart, ['cluster'])
})
