import t from 'tap'
import { isInNpxCache, stableNode } from '../../../src/setup/install/programs.js'

const machine = (PATH: string) => ({ platform: 'linux', home: '/h', cwd: '/', env: { PATH } }) as const

t.test('the path of Node is one that outlives an update', async t => {
  const links: Record<string, string> = {
    '/usr/local/bin/node': '/opt/node-22/bin/node',
    '/h/.nvm/versions/node/v22/bin/node': '/opt/node-22/bin/node',
    '/usr/bin/node': '/usr/bin/node-18',
  }
  const realpath = async (path: string) => links[path] ?? path
  const running = '/h/.nvm/versions/node/v22/bin/node'
  const path = '/h/.nvm/versions/node/v22/bin::/usr/bin:/usr/local/bin'
  t.same(await stableNode(machine(path), running, realpath), {
    path: '/usr/local/bin/node',
    isStable: true,
  })
  t.same(await stableNode(machine('/usr/bin'), running, realpath), { path: running, isStable: false })
  t.same(await stableNode(machine(''), '/opt/n/node', realpath), { path: '/opt/n/node', isStable: true })
  t.ok(isInNpxCache('/h/.npm/_npx/1/node_modules/mcp-proxy-daemon/bin/connect.cjs'))
})
