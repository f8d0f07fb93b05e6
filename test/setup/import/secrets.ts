import t from 'tap'
import type { ImportedEntry } from '../../../src/setup/import/normalise.js'
import { redacted, replaceSecrets } from '../../../src/setup/import/secrets.js'

/** Secrets as they are found in entries; in each `S3CRET` must be found, and nothing else. */
const PEM = '-----BEGIN RSA PRIVATE KEY-----\nS3CRET\n-----END RSA PRIVATE KEY-----'
const SHAPES: readonly ImportedEntry[] = [
  ...[
    'GITHUB_TOKEN',
    'API_KEY',
    'apikey',
    'CLIENT_SECRET',
    'DB_PASSWORD',
    'PASSPHRASE',
    'AUTH',
    'SESSION_COOKIE',
  ].map(name => ({ env: { [name]: 'S3CRET' } })),
  ...['AWS_CREDENTIALS', 'OPENAI_KEY', 'npm_config__auth', 'MY_PWD', 'DSN'].map(name => ({
    env: { [name]: 'S3CRET' },
  })),
  ...['ghp_', 'gho_', 'github_pat_', 'glpat-', 'sk-', 'sk-ant-api03-', 'xoxb-', 'xoxp-', 'AKIA', 'eyJ'].map(
    prefix => ({
      env: { VALUE: `${prefix}S3CRET00` },
    }),
  ),
  { env: { MULTI: PEM } },
  { env: { DATABASE_URL: 'postgres://app:S3CRET@db.example.com/app' } },
  { env: { HOOK: 'https://S3CRET@example.com/hook' } },
  { env: { ENDPOINT: 'https://example.com/x?token=S3CRET&y=1' } },
  { headers: { Authorization: 'Bearer S3CRET' } },
  { headers: { Authorization: 'Basic S3CRET' } },
  { headers: { authorization: 'S3CRET' } },
  { headers: { 'X-Api-Key': 'S3CRET' } },
  { headers: { Cookie: 'sid=S3CRET; theme=S3CRET' } },
  { headers: { 'X-Trace': 'ghp_S3CRET00' } },
  { args: ['--token', 'S3CRET'] },
  { args: ['--api-key=S3CRET'] },
  { args: ['-e', 'GITHUB_TOKEN=S3CRET', 'image'] },
  { args: ['--header', 'Authorization: Bearer S3CRET'] },
  { args: ['--header', 'Authorization:Bearer S3CRET'] },
  { args: ['--header=X-Api-Key: S3CRET'] },
  { args: ['--dsn', 'postgres://u:S3CRET@h/db'] },
  { args: ['postgres://u:S3CRET@h/db'] },
  { args: ['https://h/sse?api_key=S3CRET'] },
  { args: ['ghp_S3CRET00'] },
  { args: ['key=glpat-S3CRET00'] },
  { env: { NESTED: '{"a":"{\\"password\\":\\"S3CRET\\"}","b":"ghp_S3CRET00"}' } },
  { env: { CONNECTION: 'Server=db;User Id=sa;Password=S3CRET;Encrypt=true' } },
  { env: { OPTIONS: '--verbose --api-key S3CRET --port 3000' } },
  { env: { NPMRC: '//registry.example/:_authToken=S3CRET' } },
  { env: { CURL: 'Authorization: Bearer S3CRET' } },
  { args: ['-c', 'export API_TOKEN=S3CRET; exec server --quiet'] },
  { url: 'https://u:S3CRET@h/mcp' },
  { url: 'https://h/mcp?apiKey=S3CRET' },
  { url: 'https://h/s/S3CRETNjQ3OTU2ZmQtNjE4/mcp' },
  { url: 'https://h/mcp#ghp_S3CRET00' },
]

t.test('every secret is found, in every place', async t => {
  for (const entry of SHAPES) {
    const found: string[] = []
    const rest = replaceSecrets(entry, (name, value) => {
      t.match(name, /^[A-Z][A-Z0-9_]*$/, 'a name for a variable')
      found.push(value)
      return `\${V${found.length}}`
    })
    t.notMatch(JSON.stringify(rest), 'S3CRET', JSON.stringify(entry))
    const put = JSON.stringify(rest).replace(/\$\{V(\d+)\}/g, (_all, at) =>
      JSON.stringify(found[at - 1]).slice(1, -1),
    )
    t.same(JSON.parse(put), entry, 'with the values in place it is what it was')
    t.notMatch(JSON.stringify(redacted(entry)), 'S3CRET', 'nor is it shown')
  }
})

t.test('values that are not secrets stay in place', async t => {
  const entry: ImportedEntry = {
    command: '/opt/token-server/bin/run',
    args: [
      '-y',
      '@scope/api-key-server@1.2.3',
      '--token',
      '${GITHUB_TOKEN}',
      '--dir',
      '/home/me',
      'C:\\x',
      'a=b',
      '--token-file',
    ],
    env: {
      MAX_TOKENS: 4096,
      LIMIT_TOKENS: '4096',
      NEEDS_AUTH: 'true',
      API_KEY: '${API_KEY}',
      LANG: 'C',
      PEER: 'http://auth:3000/mcp',
      EMPTY_KEY: '',
      OFF: null,
    },
    headers: { Authorization: 'Bearer ${TOKEN}', Accept: 'text/html' },
    url: 'https://example.com/mcp/v1?mode=fast&flag',
    tools: { deny: ['token_*'] },
  }
  t.same(
    replaceSecrets(entry, () => 'taken'),
    entry,
  )
})

t.test('a secret that is part variable is found, and what only surrounds variables stays', t => {
  const found = (env: ImportedEntry): readonly string[] => {
    const values: string[] = []
    replaceSecrets({ env }, (_name, value) => String(values.push(value)))
    return values
  }
  t.same(found({ API_KEY: 'literal-${X}' }), ['literal-'])
  t.same(found({ TOKEN: '${X}-S3CRET' }), ['-S3CRET'])
  t.same(found({ AUTHORIZATION: 'Bearer S3CRET.${X}' }), ['S3CRET.'])
  t.same(found({ PASSWORD: 'a$${b}' }), ['a${b}'], 'signs that stand for themselves are part of it')
  for (const value of ['${X}', 'Bearer ${X}', '${A}:${B}', 'sid=${X}', 'user:${X}', '${HOME}/token.json'])
    t.same(found({ AUTH: value }), [], value)
  t.end()
})

t.test('a value that may be a secret is decided about, and settings are not', t => {
  const asked = (entry: ImportedEntry): readonly string[] => {
    const values: string[] = []
    replaceSecrets(
      entry,
      (_name, value) => value,
      (_name, value) => values.push(value) > 0,
    )
    return values
  }
  for (const value of ['AB12-CD34-EF56', 's3cr3tV4lue', 'a1b2c3d4', 'Zx81mQp0'])
    t.same(asked({ env: { LICENSE: value } }), [value])
  t.same(asked({ args: ['-k', 'x', '-l', 's3cr3tV4lue'] }), ['s3cr3tV4lue'])
  for (const value of [
    ...['us-intl', 'us-east-1', 'gpt-4o', 'claude-3-5-sonnet-20241022', 'my-project-123', 'python3.11'],
    ...['2024-01-01T00:00:00Z', 'me@example2go.com', 'http://a1b2c.example/x', '/home/me/a1b2c3', '10000ms'],
    ...['m5.2xlarge', 'node server.js a1b2c', 'linux/amd64', 'deadline', '192.168.10.20', '1.2.3-beta4'],
  ])
    t.same(asked({ env: { SETTING: value } }), [], value)
  t.end()
})
