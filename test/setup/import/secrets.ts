import t from 'tap'
import type { Entry } from '../../../src/setup/import/normalise.js'
import { redacted, replaceSecrets } from '../../../src/setup/import/secrets.js'

/** Secrets as they are found in entries; in each `S3CRET` must be found, and nothing else. */
const PEM = '-----BEGIN RSA PRIVATE KEY-----\nS3CRET\n-----END RSA PRIVATE KEY-----'
const SHAPES: readonly Entry[] = [
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

t.test('every secret is found, whatever holds it', async t => {
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

t.test('what is no secret stays where it is', async t => {
  const entry: Entry = {
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
