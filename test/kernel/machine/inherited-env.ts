import t from 'tap'
import { inheritedEnv, wholeEnv } from '../../../src/kernel/machine/inherited-env.js'

t.test('a child on POSIX gets what programs need and none of our secrets', async t => {
  const kept = {
    HOME: '/home/a',
    PATH: '/bin',
    LC_ALL: 'C',
    XDG_CONFIG_HOME: '/home/a/.config',
    NODE_EXTRA_CA_CERTS: '/ca.pem',
    HTTPS_PROXY: 'http://p:1',
    no_proxy: 'localhost',
    npm_config_registry: 'http://r/',
  }
  const dropped = {
    GITHUB_TOKEN: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
    NODE_OPTIONS: '--inspect',
    LD_PRELOAD: 'x',
    npm_config__auth: 'x',
    path: 'x',
    XDG_SESSION_ID: '1',
    TZ: undefined,
  }
  t.same(inheritedEnv({ ...kept, ...dropped }, {}, 'linux'), kept)
})

t.test('configured variables take precedence, with any name', async t => {
  t.same(inheritedEnv({ PATH: '/bin' }, { PATH: '/opt', GITHUB_TOKEN: 'x' }, 'linux'), {
    PATH: '/opt',
    GITHUB_TOKEN: 'x',
  })
  const odd = inheritedEnv({}, JSON.parse('{"__proto__":"x"}') as Record<string, string>, 'linux')
  t.same(Object.entries(odd), [['__proto__', 'x']])
})

t.test('exported shell functions are left out', async t => {
  t.same(inheritedEnv({ TERM: '() { :; }; evil', USER: 'a' }, {}, 'linux'), { USER: 'a' })
})

t.test('on Windows case does not matter, and a variable is passed once', async t => {
  t.same(inheritedEnv({ Path: 'C:\\a', SystemRoot: 'C:\\W', Secret: 'x' }, { PATH: 'C:\\b' }, 'win32'), {
    PATH: 'C:\\b',
    SystemRoot: 'C:\\W',
  })
})

t.test('the whole environment lacks only the key of stored logins', async t => {
  const parent = { PATH: '/bin', GITHUB_TOKEN: 'x', F: '() { :; }', TZ: undefined, MCP_PROXY_STORE_KEY: 'k' }
  t.same(wholeEnv(parent, { PATH: '/opt' }, 'linux'), { PATH: '/opt', GITHUB_TOKEN: 'x', F: '() { :; }' })
  t.same(wholeEnv({ Path: 'a', mcp_proxy_store_key: 'k' }, { PATH: 'b' }, 'win32'), { PATH: 'b' })
})
