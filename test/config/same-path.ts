import t from 'tap'
import { isSamePath } from '../../src/config/same-path.js'

for (const [one, other, platform, expected] of [
  ['Z:\\work\\Config.json', 'z:\\WORK\\config.JSON', 'win32', true],
  ['C:/work/config.json', 'C:\\work\\.\\config.json', 'win32', true],
  ['\\\\Server\\Share\\a.json', '\\\\server\\share\\a.json', 'win32', true],
  ['C:\\a.json', 'D:\\a.json', 'win32', false],
  ['C:\\a.json', 'C:\\a.json.bak', 'win32', false],
  ['Config.json', 'config.json', 'win32', true],
  ['/etc/mcp.json', '/etc/x/../mcp.json', 'linux', true],
  ['/etc/MCP.json', '/etc/mcp.json', 'linux', false],
] as const) {
  t.test(`${one} and ${other} are ${expected ? 'one place' : 'two'} on ${platform}`, async t => {
    t.equal(isSamePath(one, other, platform), expected)
  })
}
