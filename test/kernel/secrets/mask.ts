import t from 'tap'
import {
  addSecrets,
  isPlain,
  isSecretName,
  KeyLines,
  MASK,
  mask,
  maskAddress,
  maskJson,
  maskShapes,
  sanitizeLine,
  sanitizeText,
  shortName,
} from '../../../src/kernel/secrets/mask.js'

/** Signs such as keys are made of. */
const signs = (count: number): string => 'aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYz'.repeat(9).slice(0, count)
const hex = (count: number): string => '0a1b2c3d4e5f6789'.repeat(9).slice(0, count)

t.test('what looks like a key is masked wherever it stands', async t => {
  const keys = [
    `mcpp_${'aB-c_D'.repeat(8).slice(0, 43)}`,
    `sk-${signs(48)}`,
    `sk-proj-${signs(20)}_${signs(20)}-${signs(20)}`,
    `sk-ant-api03-${signs(12)}_${signs(30)}-${signs(30)}AA`,
    `sk-or-v1-${hex(64)}`,
    `sk_live_${signs(24)}`,
    `rk_test_${signs(24)}`,
    ...['ghp', 'gho', 'ghu', 'ghs', 'ghr'].map(prefix => `${prefix}_${signs(36)}`),
    `github_pat_${signs(22)}_${signs(59)}`,
    `glpat-${signs(20)}`,
    `xoxb-${'1234567890123'}-${'1234567890123'}-${signs(24)}`,
    `xapp-1-A0123456789-1234567890123-${hex(64)}`,
    `AKIA${signs(16).toUpperCase()}`,
    `AIza${signs(35)}`,
    `ya29.${signs(60)}`,
    `GOCSPX-${signs(28)}`,
    `hf_${signs(34)}`,
    `npm_${signs(36)}`,
    `pypi-AgEIcHlwaS5vcmc${signs(60)}`,
    `dop_v1_${hex(64)}`,
    `SG.${signs(22)}.${signs(43)}`,
    `whsec_${signs(32)}`,
    `lin_api_${signs(40)}`,
    `shpat_${hex(32)}`,
    `figd_${signs(40)}`,
    `tvly-dev-${signs(32)}`,
    `gsk_${signs(52)}`,
    `xai-${signs(80)}`,
    `pplx-${signs(48)}`,
    `nvapi-${signs(64)}`,
    `dckr_pat_${signs(27)}`,
    `sbp_${hex(40)}`,
    `ATATT3xFfGF0${signs(40)}=${signs(8)}`,
    `hvs.${signs(90)}`,
    `glsa_${signs(32)}_${hex(8)}`,
    `pat${signs(14)}.${hex(64)}`,
    `123456789:AA${signs(33)}`,
    `M${signs(23)}.${signs(6)}.${signs(27)}`,
    `dapi${hex(32)}`,
    `${hex(32)}-us21`,
    `EAA${signs(60)}`,
    `PMAK-${hex(24)}-${hex(34)}`,
    `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${signs(43)}`,
  ]
  t.ok(keys.length >= 40)
  for (const key of keys) {
    for (const text of [key, `key ${key} is wrong`, `{"a":"${key}"}`, `x=${key};`, `(${key})`, `'${key}',`]) {
      t.equal(maskShapes(text), text.replace(key, '***'), `row ${keys.indexOf(key)}: ${text}`)
    }
  }
})

t.test('what is called a secret is masked, and passwords and queries in addresses', async t => {
  const rows: readonly (readonly [string, string])[] = [
    ['OPENAI_KEY=abc', 'OPENAI_KEY=***'],
    ['DB_PASS="hunter"', 'DB_PASS="***"'],
    ['GH_PAT: abc1', 'GH_PAT: ***'],
    ['{"password":"hunter","port":1}', '{"password":"***","port":1}'],
    ['{\\"apiKey\\": \\"hunter\\"}', '{\\"apiKey\\": \\"***\\"}'],
    ["{ token: 'x1y2', a: 1 }", "{ token: '***', a: 1 }"],
    ['run --token abc123 --verbose', 'run --token *** --verbose'],
    ['run --token = abc123', 'run --token = ***'],
    ['run --client-secret=abc', 'run --client-secret=***'],
    ['secret: token=abc123', 'secret: token=***'],
    ['auth: token: abc123', 'auth: token: ***'],
    ['Authorization: Bearer abc', 'Authorization: Bearer ***'],
    ['Authorization: Bearer abc1', 'Authorization: Bearer ***'],
    ['sent Bearer abcd.efgh-ijkl', 'sent Bearer ***'],
    ['Basic dXNlcjpwYXNz', 'Basic ***'],
    ['cookie: a=b; c=d', 'cookie: ***'],
    ['AccountKey=abc==;Endpoint=x', 'AccountKey=***;Endpoint=x'],
    ['postgres://app:pw@db:5432/x', 'postgres://***@db:5432/x'],
    ['at https://h/mcp?key=v, then', 'at https://h/mcp?*** then'],
    ['https://h/s/0123456789abcdef0123/mcp', 'https://h/s/***/mcp'],
    ['-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nrest', '***\nrest'],
    ['x -----BEGIN PRIVATE KEY-----\\nabc', 'x ***'],
  ]
  for (const [text, shown] of rows) t.equal(maskShapes(text), shown, text)
})

t.test('ordinary words stay as they are', async t => {
  const rows = [
    'Server github is not reachable: exited with code 3',
    'Unexpected token < in JSON at position 0',
    'Invalid token: expected a string',
    'max_tokens=4096, tokens: 12',
    'author=ann, authorize: yes',
    'use --token to say which',
    'Bearer token required',
    'Basic authentication',
    'key: not found, keyboard=us, monkey: yes',
    'token=null secret=undefined',
    'commit 0a1b2c3d4e5f6789abcdef, sha512-abc',
    'session 550e8400-e29b-41d4-a716-446655440000',
    'at file:///home/ann/node_modules/some-package-v2/dist/index-A1B2C3D4E5F6.js:10:5',
    'http://127.0.0.1:8808/mcp',
    'java.lang.IllegalStateException: no such element in SomeLongClassName2Impl',
    '2026-01-01T00:00:00.000Z info',
  ]
  for (const text of rows) t.equal(mask(text), text)
})

t.test('a value that was added is masked in every form, until it is taken back', async t => {
  const secret = 'two "words"/ünd é+1'
  t.equal(mask(secret), secret)
  const release = addSecrets([secret, 'abcd', 'abcd-longer', 'xyz'])
  t.equal(mask(`(${secret})`), '(***)')
  t.equal(mask(JSON.stringify({ x: secret })), '{"x":"***"}')
  t.equal(mask(`?q=${encodeURIComponent(secret)}`), '?q=***')
  t.equal(mask('abcd, xabcd, abcd-longer, xabcd-longerx, xyz'), '***, xabcd, ***, x***x, xyz')
  release()
  t.equal(mask(secret), secret)
})

t.test('the lines and parts of a value are masked alone, too', async t => {
  const pem = ['-----BEGIN X-----', signs(64), signs(60).slice(3), '-----END X-----'].join('\n')
  const release = addSecrets([
    pem,
    `Server=db.example.com;Password=${hex(12)};Mode=fast`,
    `{"id":"${hex(30)}"}`,
  ])
  t.equal(mask(`a ${signs(64)} b`), 'a *** b')
  t.equal(mask(`a ${hex(12)} db.example.com fast`), 'a *** db.example.com fast')
  t.equal(mask(hex(30)), '***')
  release()
})

t.test('of a value that is cut off nothing is shown', async t => {
  const secrets = [signs(200), `${signs(2000)}!`]
  const release = addSecrets(secrets)
  for (const secret of secrets) {
    for (let before = 0; before < 1100; before += 7) {
      const shown = sanitizeLine(`${'- '.repeat(550).slice(0, before)}${secret}`)
      t.notMatch(shown, secret.slice(0, 5), `${before} characters before one of ${secret.length}`)
    }
  }
  release()
})

t.test('words of a peer are one short line of plain text', async t => {
  t.equal(sanitizeLine('a\u001b[31mb\u0007\r\n\tc\u202e\u0000'), 'ab c')
  t.equal(Buffer.byteLength(sanitizeLine('é'.repeat(5000))), 1024)
  t.match(sanitizeLine('x'.repeat(9_000_000)), / \[cut\]$/)
  t.equal(sanitizeLine('x'.repeat(1024)), 'x'.repeat(1024))
})

t.test('the lines of a private key are found to its end, and of what never ends not for ever', async t => {
  const keys = new KeyLines()
  const rows: readonly (readonly [string, boolean])[] = [
    ['a', false],
    ['-----BEGIN EC PRIVATE KEY-----', false],
    ['MHcCAQEE', true],
    ['-----END EC PRIVATE KEY-----', true],
    ['one line: -----BEGIN PRIVATE KEY-----\\nabc\\n-----END PRIVATE KEY-----', false],
    ['b', false],
  ]
  for (const [line, isInside] of rows) t.equal(keys.take(Buffer.from(line)), isInside, line)
  keys.take(Buffer.from('-----BEGIN PRIVATE KEY-----'))
  t.ok(keys.isInside)
  const later = Array.from({ length: 300 }, () => keys.take(Buffer.from('words')))
  t.same([later[0], later.at(-1)], [true, false])
})

t.test('an address is shown without what could be a secret', async t => {
  const table: Record<string, string> = {
    'https://h/mcp': 'https://h/mcp',
    'https://h:8080': 'https://h:8080',
    'https://ann:pw@h/mcp': 'https://***@h/mcp',
    'https://a@b:p@h/mcp': 'https://***@h/mcp',
    'https://h/mcp?key=v&x#frag': 'https://h/mcp?***#***',
    'wss://h?k=v': 'wss://h?***',
    'https://h/s/0123456789abcdef0123/mcp': 'https://h/s/***/mcp',
    'https://h/a-long-but-wordy-segment/mcp': 'https://h/a-long-but-wordy-segment/mcp',
    'https://${HOST}:${PORT}/mcp': 'https://${HOST}:${PORT}/mcp',
  }
  for (const [url, shown] of Object.entries(table)) t.equal(maskAddress(url), shown, url)
})

t.test('plain words, paths and numbers are told from what may be a secret', async t => {
  const plain = [
    '',
    'debug',
    'DEBUG',
    'Europe',
    '8080',
    '1.5',
    '10%',
    '/var/lib/x',
    './a',
    '../b c',
    '~/x',
    'C:\\x',
    '/a:/b',
    'C:\\a;D:\\b',
  ]
  const other = [
    'hunter2',
    'aBc',
    'a b',
    'x=1',
    'a@b',
    `/${signs(30)}`,
    'abcdefghijklmnopqrstuvwxyz',
    'a/b',
    '1-2',
    `${signs(10)}==`,
  ]
  for (const text of plain) t.ok(isPlain(text), text)
  for (const text of other) t.notOk(isPlain(text), text)
})

t.test('names determine whether their values are secret', async t => {
  const secret = [
    'OPENAI_KEY',
    'DB_PASS',
    'GH_PAT',
    'apiKey',
    'X-Api-Key',
    'Authorization',
    'client_secret',
    '--token',
    'SENTRY_DSN',
    'pwd',
    'Cookie',
  ]
  const open = ['author', 'KEYBOARD', 'PATH', 'COMPASS', 'PATTERN', 'MONKEY', 'log', '--key-file']
  for (const name of secret) t.ok(isSecretName(name), name)
  for (const name of open) t.notOk(isSecretName(name), name)
})

t.test('references to variables are shown, and values under the same names are not', async t => {
  for (const text of [
    '"HUB_TOKEN": "${env:HUB_TOKEN}"',
    'TOKEN=${TOKEN}',
    '--token ${TOKEN:-x}',
    'Authorization: Bearer ${TOKEN}',
    'https://h/mcp?key=${KEY}',
    'http://json-schema.org/draft-07/schema#',
    'KEYBOARD=us-intl',
    'max_tokens=200000',
  ]) {
    t.equal(maskShapes(text), text)
  }
  t.equal(maskShapes('PIN=1234 and API_KEY=12345'), 'PIN=*** and API_KEY=***')
})

t.test('a name is judged by its whole words', async t => {
  for (const name of ['apiKey', 'X-Api-Key', 'GITHUB_PAT', 'PIN', 'mytoken', 'client_secret', 'DB_PASS'])
    t.ok(isSecretName(name), name)
  for (const name of ['KEYBOARD', 'MAX_TOKENS', 'monkey', 'author', 'passenger', 'TOKEN_URL', 'tokenizer'])
    t.notOk(isSecretName(name), name)
})

t.test('hostile text of 1 MiB is masked in linear time', async t => {
  for (const piece of [
    'PRIVATE KEY',
    '-----BEGIN PRIVATE KEY-----',
    'token=',
    'api_key-',
    '${TOKEN:',
    '--token ',
    '"\\',
    'token\\" ',
    '"token": ',
    '"a":',
  ]) {
    const text = `-----BEGIN ${piece.repeat(Math.ceil(2 ** 20 / piece.length))}`
    for (const [name, masked] of Object.entries({ mask, maskJson })) {
      const beganMs = performance.now()
      masked(text)
      t.ok(performance.now() - beganMs < 3000, `${name} ${piece}`)
    }
  }
})

t.test('JSON is masked however long its strings are, and so is a text that only looks like JSON', async t => {
  const long = JSON.stringify({ token: 'x'.repeat(2 ** 24), text: '\n'.repeat(2 ** 23), q: '"\\"\\\\' })
  t.equal(maskJson(long), long.replace(/x+/, MASK))
  for (const text of [
    '',
    '"',
    '"\\',
    '"\\x"',
    '"a" : ',
    '"token"',
    '"token": null',
    '{"a": [1, "b"]}',
    '"\\u12"',
  ])
    t.equal(maskJson(text), text)
  t.equal(maskJson('"token" : "abc"'), '"token" : "***"')
  t.equal(maskJson('"token":1'), '"token":"***"')
  t.equal(maskJson('{"token": {"a": 1}}'), '{"token": {"a": 1}}')
  t.notMatch(maskJson('{"a": "ghp_0123456789abcdefghijklmnopqrstuvwxyz'), 'ghp_')
})

t.test('a secret that a cut would divide does not show', async t => {
  const secret = 'correct-horse-battery-staple'
  t.teardown(addSecrets([secret]))
  for (const bytes of [32, 64, 128, 256, 1024])
    for (let part = 1; part < secret.length; part += 1) {
      const text = `${'x '.repeat(bytes)}`.slice(0, bytes - part) + secret + ' y'.repeat(bytes)
      for (const shown of [sanitizeLine(text, bytes), sanitizeText(text, bytes), shortName(text, bytes)])
        t.notMatch(shown, 'corre', `${part} of ${bytes}`)
    }
})
