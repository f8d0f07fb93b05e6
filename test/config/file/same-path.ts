import { posix, win32 } from 'node:path'
import t from 'tap'
import { isSamePath } from '../../../src/config/file/same-path.js'

for (const [one, other, path, expected] of [
  ['Z:\\work\\Config.json', 'z:\\WORK\\config.JSON', win32, true],
  ['C:/work/config.json', 'C:\\work\\.\\config.json', win32, true],
  ['\\\\Server\\Share\\a.json', '\\\\server\\share\\a.json', win32, true],
  ['C:\\a.json', 'D:\\a.json', win32, false],
  ['C:\\a.json', 'C:\\a.json.bak', win32, false],
  ['Config.json', 'config.json', win32, true],
  ['/etc/mcp.json', '/etc/x/../mcp.json', posix, true],
  ['/etc/MCP.json', '/etc/mcp.json', posix, false],
] as const) {
  t.test(
    `${one} and ${other} are ${expected ? 'one place' : 'two'} where paths are separated by ${path.sep}`,
    async t => {
      t.equal(isSamePath(one, other, path), expected)
    },
  )
}
