import { join } from 'node:path'
import t from 'tap'
import { CLIENTS } from '../../../src/setup/clients/clients.js'
import { FORMATS, formatOfContent, formatOfPath } from '../../../src/setup/clients/formats.js'
import { foldersOf } from '../../../src/setup/clients/machine.js'

const HOME = '/home/ann'

t.test('each client has a format with a source, and its files are recognized by their paths', t => {
  const folders = foldersOf({ platform: 'linux', home: HOME, cwd: '/work', env: {} })
  for (const { id, user, project = [] } of CLIENTS) {
    t.match(FORMATS.find(format => format.id === id)?.source, /\w/, id)
    for (const file of [...user(folders), ...project.map(name => join('/work/shop', name))])
      t.equal(formatOfPath(file)?.id, file.includes('.vscode') ? 'vscode' : id, file)
  }
  t.equal(formatOfPath('C:\\Users\\Ann\\AppData\\Roaming\\Code\\User\\mcp.json')?.id, 'vscode')
  t.equal(formatOfPath('/tmp/.roo/mcp.json')?.id, 'roo')
  t.equal(formatOfPath('/tmp/mcp.json'), undefined)
  t.end()
})

t.test('other files are recognized by keys of one client, unless their variables contradict', t => {
  const rows: readonly (readonly [root: object, id: string | undefined])[] = [
    [{ mcpServers: { a: { command: 'x', alwaysAllow: [] } } }, 'roo'],
    [{ mcpServers: { a: { baseUrl: 'http://h/', isActive: true } } }, 'cherry-studio'],
    [{ context_servers: { a: { command: 'x' } } }, 'zed'],
    [{ servers: { a: { command: 'x' } }, inputs: [] }, 'vscode'],
    [{ mcpServers: { a: { serverUrl: 'http://h/' } } }, 'windsurf'],
    [{ mcpServers: { a: { command: 'x' } } }, undefined],
    [{ mcpServers: { a: { httpUrl: 'http://h/' }, b: { serverUrl: 'http://h/' } } }, undefined],
    [{ mcpServers: { a: { command: '${input:x}', headersHelper: 'y' } } }, undefined],
  ]
  for (const [root, id] of rows) {
    const entries = Object.values(root).flatMap(container => Object.values(container as object) as object[])
    t.equal(formatOfContent(root, entries)?.id, id, JSON.stringify(root))
  }
  t.end()
})
