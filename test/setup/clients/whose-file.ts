import { join } from 'node:path'
import t from 'tap'
import { CLIENTS } from '../../../src/setup/clients/clients.js'
import { FORMATS } from '../../../src/setup/clients/formats.js'
import { foldersOf } from '../../../src/setup/clients/machine.js'
import { formatOfContent, formatOfFile, formatOfPath } from '../../../src/setup/clients/whose-file.js'

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
  t.equal(formatOfPath('C:\\shop\\.vs\\mcp.json')?.id, 'visual-studio')
  t.equal(formatOfPath('/tmp/mcp.json'), undefined)
  t.end()
})

t.test('other files are recognized by keys of one client, unless their variables contradict', t => {
  const rows: readonly (readonly [root: object, id: string | undefined])[] = [
    [{ mcpServers: { a: { command: 'x', alwaysAllow: [] } } }, 'roo'],
    [{ mcpServers: { a: { baseUrl: 'http://h/', isActive: true } } }, 'cherry-studio'],
    [{ context_servers: { a: { command: 'x' } } }, 'zed'],
    [{ 'amp.mcpServers': { a: { command: 'x' } } }, 'amp'],
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

t.test('a .mcp.json with keys of another client is not read as Claude Code’s', t => {
  const claude = formatOfPath('/work/shop/.mcp.json')
  const rows: readonly (readonly [file: string, entry: object, id: string | undefined])[] = [
    ['/work/shop/.mcp.json', { timeout: 1500 }, 'claude-code'],
    ['/work/shop/.mcp.json', { headersHelper: 'x', disabled: false }, 'claude-code'],
    ['/work/shop/.mcp.json', { timeout: 1800, alwaysAllow: ['x'], disabled: false }, 'roo'],
    ['/work/shop/.mcp.json', { timeout: 1800, autoApprove: [] }, undefined],
    ['C:\\shop\\.mcp.json', { serverUrl: 'http://h/', alwaysAllow: [] }, undefined],
    ['/home/ann/.claude.json', { alwaysAllow: [] }, 'claude-code'],
  ]
  for (const [file, entry, id] of rows) {
    const root = { mcpServers: { a: entry } }
    t.equal(formatOfFile(claude, file, root, [entry])?.id, id, JSON.stringify(entry))
  }
  const entry = { command: 'x', args: ['${input:key}'] }
  const ofVisualStudio = { inputs: [{ id: 'key' }], servers: { a: entry } }
  t.equal(formatOfFile(claude, '/work/.mcp.json', ofVisualStudio, [entry])?.id, 'vscode')
  t.equal(formatOfFile(claude, '/work/.mcp.json', { servers: { a: entry } }, [entry]), undefined)
  t.end()
})
