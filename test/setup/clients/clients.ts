import { normalize } from 'node:path'
import t from 'tap'
import { CLIENTS } from '../../../src/setup/clients/clients.js'
import { foldersOf } from '../../../src/setup/clients/machine.js'

const CLINE = 'Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'
const INTELLIJ = 'github-copilot/intellij/mcp.json'

/** Files that are in the same place of the home folder everywhere. */
const SAME: Readonly<Record<string, string>> = {
  'claude-code': '.claude.json',
  cursor: '.cursor/mcp.json',
  windsurf: '.codeium/windsurf/mcp_config.json',
  gemini: '.gemini/settings.json',
  codex: '.codex/config.toml',
  continue: '.continue/config.yaml',
  opencode: '.config/opencode/opencode.jsonc',
  'copilot-cli': '.copilot/mcp-config.json',
  kiro: '.kiro/settings/mcp.json',
  lmstudio: '.lmstudio/mcp.json',
  amp: '.config/amp/settings.json',
}

/** Files whose place depends on the system: Linux, macOS, Windows; APP is where macOS keeps settings. */
const OTHERS: Readonly<Record<string, readonly [linux: string, mac: string, windows: string]>> = {
  vscode: ['.config/Code/User/mcp.json', 'APP/Code/User/mcp.json', 'Roam/Code/User/mcp.json'],
  'vscode-insiders': [
    '.config/Code - Insiders/User/mcp.json',
    'APP/Code - Insiders/User/mcp.json',
    'Roam/Code - Insiders/User/mcp.json',
  ],
  'claude-desktop': [
    '.config/Claude/claude_desktop_config.json',
    'APP/Claude/claude_desktop_config.json',
    'Roam/Claude/claude_desktop_config.json',
  ],
  zed: ['.config/zed/settings.json', '.config/zed/settings.json', 'Roam/Zed/settings.json'],
  cline: [`.config/${CLINE}`, `APP/${CLINE}`, `Roam/${CLINE}`],
  goose: ['.config/goose/config.yaml', '.config/goose/config.yaml', 'Roam/Block/goose/config/config.yaml'],
  jetbrains: [`.config/${INTELLIJ}`, `.config/${INTELLIJ}`, `Local/${INTELLIJ}`],
  crush: ['.config/crush/crush.json', '.config/crush/crush.json', 'Local/crush/crush.json'],
}

t.test('each of 21 clients has its file where its system keeps it', async t => {
  t.equal(CLIENTS.length, 21)
  const env = { APPDATA: '/h/Roam', LOCALAPPDATA: '/h/Local' }
  for (const [at, platform] of (['linux', 'darwin', 'win32'] as const).entries()) {
    const folders = foldersOf({ platform, home: '/h', cwd: '/h/p', env })
    for (const { id, user } of CLIENTS) {
      if (id === 'visual-studio') {
        t.same(user(folders), platform === 'win32' ? [normalize('/h/.mcp.json')] : [], platform)
        continue
      }
      const place = id === 'librechat' ? 'p/librechat.yaml' : (SAME[id] ?? OTHERS[id]?.[at])
      const file = `/h/${place?.replace('APP', 'Library/Application Support')}`
      t.equal(user(folders)[0], normalize(file), `${id} on ${platform}`)
    }
  }
})
