import t from 'tap'
import { defaultConfigFile } from '../../src/shim/default-config-file.js'

t.test('without a name, the configuration is in the home folder', async t => {
  for (const platform of ['linux', 'darwin'] as const) {
    // Not moved by XDG_CONFIG_HOME, which the launchers of desktops do not know.
    const env = { XDG_CONFIG_HOME: '/elsewhere', APPDATA: '/elsewhere' }
    t.equal(defaultConfigFile({ platform, home: '/home/me', env }), '/home/me/.config/mcp-proxy/mcp.json')
  }
})

t.test('on Windows it is in the roaming folder of applications', async t => {
  const at = { platform: 'win32', home: 'C:\\Users\\me' } as const
  const usual = 'C:\\Users\\me\\AppData\\Roaming\\mcp-proxy\\mcp.json'
  t.equal(defaultConfigFile({ ...at, env: {} }), usual)
  t.equal(defaultConfigFile({ ...at, env: { APPDATA: '' } }), usual)
  t.equal(defaultConfigFile({ ...at, env: { APPDATA: 'D:\\data' } }), 'D:\\data\\mcp-proxy\\mcp.json')
})
