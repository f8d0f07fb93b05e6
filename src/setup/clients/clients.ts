import { join } from 'node:path'
import type { Json } from '../edit/change.js'
import type { Syntax } from '../files/edit-file.js'
import type { Folders } from './machine.js'

type Members = Readonly<Record<string, Json>>

/** A program with arguments and environment variables that starts us in a client. */
interface Launch {
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** A program that reads MCP servers from a file: the file's location and entry format. */
export interface ClientProgram {
  readonly id: string
  readonly label: string
  readonly syntax: Syntax
  /** Path of its servers in the file. */
  readonly at: readonly string[]
  /** True if the servers are a list of objects with a `name`. */
  readonly isList?: true
  /**
   * User files, absolute. The first existing one counts; if none exists, the first is created. Empty if the
   * client does not run on this system.
   */
  readonly user: (folders: Folders) => readonly string[]
  /** Project files, relative to the project folder. */
  readonly project?: readonly string[]
  /** True if it starts servers in the project folder; other clients use the home folder. */
  readonly startsInProject?: true
  /** True if it replaces `${workspaceFolder}` in arguments. */
  readonly passesWorkspace?: true
  /** True if only the client may create a missing file. */
  readonly createsItself?: true
  readonly stdio: (launch: Launch) => Members
  /** Undefined if its file does not support URLs. */
  readonly http?: (url: string) => Members
  /** Instructions to make it read its file again. */
  readonly reload: string
  /** Reload instructions after our entry was removed, if different. */
  readonly reloadUndone?: string
}

const restart = (label: string): string => `restart ${label}`
const plain = ({ command, args, env = {} }: Launch): Members => ({ command, args, ...ifAny('env', env) })

const ifAny = (key: string, env: Readonly<Record<string, string>>): Members =>
  Object.keys(env).length === 0 ? {} : { [key]: env }
const typed = (launch: Launch): Members => ({ type: 'stdio', ...plain(launch) })
const url = (address: string): Members => ({ url: address })
const typedUrl = (address: string): Members => ({ type: 'http', url: address })

/** Defaults of most clients. */
const usual = { syntax: 'jsonc', at: ['mcpServers'], stdio: plain, http: url } as const

const vscode = (id: string, label: string, folder: string): ClientProgram => ({
  ...usual,
  id,
  label,
  at: ['servers'],
  user: ({ application }) => [join(application, folder, 'User', 'mcp.json')],
  project: ['.vscode/mcp.json'],
  passesWorkspace: true,
  stdio: typed,
  http: typedUrl,
  reload: `in ${label}, run "MCP: List Servers" and start mcp-proxy`,
  reloadUndone: `in ${label}, run "MCP: List Servers" and start the servers you use`,
})

const yamlLaunch = (launch: Launch): Members => ({ name: 'mcp-proxy', type: 'stdio', ...plain(launch) })

/** All known clients, in the order of their imports. */
export const CLIENTS: readonly ClientProgram[] = [
  {
    ...usual,
    id: 'claude-code',
    label: 'Claude Code',
    startsInProject: true,
    user: ({ home, named }) => [join(named('CLAUDE_CONFIG_DIR') ?? home, '.claude.json')],
    project: ['.mcp.json'],
    stdio: typed,
    http: typedUrl,
    reload: 'type /mcp in Claude Code',
  },
  {
    ...usual,
    id: 'cursor',
    label: 'Cursor',
    user: ({ home }) => [join(home, '.cursor', 'mcp.json')],
    project: ['.cursor/mcp.json'],
    passesWorkspace: true,
    reload: restart('Cursor'),
  },
  vscode('vscode', 'VS Code', 'Code'),
  vscode('vscode-insiders', 'VS Code Insiders', 'Code - Insiders'),
  {
    id: 'claude-desktop',
    label: 'Claude Desktop',
    syntax: 'jsonc',
    at: ['mcpServers'],
    user: ({ application }) => [join(application, 'Claude', 'claude_desktop_config.json')],
    stdio: plain,
    reload: restart('Claude Desktop'),
  },
  {
    ...usual,
    id: 'windsurf',
    label: 'Windsurf',
    user: ({ home }) =>
      [join('windsurf', 'mcp_config.json'), 'mcp_config.json'].map(file => join(home, '.codeium', file)),
    http: address => ({ serverUrl: address }),
    reload: restart('Windsurf'),
  },
  {
    ...usual,
    id: 'zed',
    label: 'Zed',
    startsInProject: true,
    at: ['context_servers'],
    user: ({ config, isWindows }) => [join(config, isWindows ? 'Zed' : 'zed', 'settings.json')],
    project: ['.zed/settings.json'],
    stdio: launch => ({ ...plain(launch), enabled: true }),
    reload: restart('Zed'),
  },
  {
    ...usual,
    id: 'gemini',
    label: 'Gemini CLI',
    startsInProject: true,
    user: ({ home }) => [join(home, '.gemini', 'settings.json')],
    project: ['.gemini/settings.json'],
    http: typedUrl,
    reload: restart('Gemini CLI'),
  },
  {
    ...usual,
    id: 'codex',
    label: 'Codex',
    startsInProject: true,
    syntax: 'toml',
    at: ['mcp_servers'],
    user: ({ home, named }) => [join(named('CODEX_HOME') ?? join(home, '.codex'), 'config.toml')],
    project: ['.codex/config.toml'],
    stdio: launch => ({ ...plain(launch), startup_timeout_sec: 30 }),
    reload: restart('Codex'),
  },
  {
    ...usual,
    id: 'cline',
    label: 'Cline',
    user: ({ application, home }) => [
      join(application, 'Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'),
      join(home, '.cline', 'mcp.json'),
      join(home, 'Documents/Cline/MCP/cline_mcp_settings.json'),
    ],
    stdio: launch => ({ ...typed(launch), disabled: false }),
    http: address => ({ type: 'streamableHttp', url: address }),
    reload: 'open the MCP servers of Cline',
  },
  {
    ...usual,
    id: 'continue',
    label: 'Continue',
    syntax: 'yaml',
    isList: true,
    user: ({ home }) => [join(home, '.continue', 'config.yaml')],
    stdio: yamlLaunch,
    http: address => ({ name: 'mcp-proxy', type: 'streamable-http', url: address }),
    reload: 'reload the configuration of Continue',
  },
  {
    ...usual,
    id: 'librechat',
    label: 'LibreChat',
    syntax: 'yaml',
    user: ({ cwd }) => [join(cwd, 'librechat.yaml')],
    stdio: typed,
    http: address => ({ type: 'streamable-http', url: address }),
    reload: restart('LibreChat'),
  },
  {
    ...usual,
    id: 'goose',
    label: 'Goose',
    startsInProject: true,
    syntax: 'yaml',
    at: ['extensions'],
    user: ({ config, isWindows }) => [
      join(config, isWindows ? 'Block/goose/config' : 'goose', 'config.yaml'),
    ],
    stdio: ({ command, args, env = {} }) => ({
      name: 'mcp-proxy',
      type: 'stdio',
      cmd: command,
      args,
      envs: env,
      env_keys: [],
      timeout: 300,
      enabled: true,
    }),
    http: address => ({
      name: 'mcp-proxy',
      type: 'streamable_http',
      uri: address,
      timeout: 300,
      enabled: true,
    }),
    reload: 'start a new session of Goose',
  },
  {
    ...usual,
    id: 'opencode',
    label: 'OpenCode',
    startsInProject: true,
    at: ['mcp'],
    // If both exist, the first one counts.
    user: ({ home, named }) =>
      ['opencode.jsonc', 'opencode.json'].map(file =>
        join(named('XDG_CONFIG_HOME') ?? join(home, '.config'), 'opencode', file),
      ),
    project: ['opencode.jsonc', 'opencode.json'],
    createsItself: true,
    stdio: ({ command, args, env = {} }) => ({
      type: 'local',
      command: [command, ...args],
      ...ifAny('environment', env),
      enabled: true,
    }),
    http: address => ({ type: 'remote', url: address, enabled: true }),
    reload: restart('OpenCode'),
  },
  {
    ...usual,
    id: 'copilot-cli',
    label: 'Copilot CLI',
    startsInProject: true,
    user: ({ home }) => [join(home, '.copilot', 'mcp-config.json')],
    project: ['.github/mcp.json'],
    stdio: launch => ({ ...plain(launch), tools: ['*'] }),
    http: address => ({ ...typedUrl(address), tools: ['*'] }),
    reload: restart('Copilot CLI'),
  },
  {
    ...usual,
    id: 'jetbrains',
    label: 'Copilot for JetBrains',
    at: ['servers'],
    user: ({ local }) => [join(local, 'github-copilot', 'intellij', 'mcp.json')],
    reload: restart('the IDE'),
  },
  {
    ...usual,
    id: 'kiro',
    label: 'Kiro',
    user: ({ home }) => [join(home, '.kiro', 'settings', 'mcp.json')],
    project: ['.kiro/settings/mcp.json'],
    reload: 'Kiro reads it at once',
  },
  {
    ...usual,
    id: 'lmstudio',
    label: 'LM Studio',
    user: ({ home }) =>
      ['.lmstudio', join('.cache', 'lm-studio')].map(folder => join(home, folder, 'mcp.json')),
    reload: 'LM Studio reads it at once',
  },
  {
    ...usual,
    id: 'crush',
    label: 'Crush',
    startsInProject: true,
    at: ['mcp'],
    user: ({ local }) => [join(local, 'crush', 'crush.json')],
    project: ['.crush.json'],
    stdio: typed,
    http: typedUrl,
    reload: restart('Crush'),
  },
  {
    ...usual,
    id: 'amp',
    label: 'Amp',
    startsInProject: true,
    at: ['amp.mcpServers'],
    user: ({ home }) => ['settings.json', 'settings.jsonc'].map(file => join(home, '.config', 'amp', file)),
    project: ['.amp/settings.json', '.amp/settings.jsonc'],
    reload: restart('Amp'),
  },
  {
    ...usual,
    id: 'visual-studio',
    label: 'Visual Studio',
    at: ['servers'],
    // On other systems, `~/.mcp.json` is a project file of Claude Code.
    user: ({ home, isWindows }) => (isWindows ? [join(home, '.mcp.json')] : []),
    project: ['.vs/mcp.json'],
    stdio: typed,
    http: typedUrl,
    reload: 'in Visual Studio, open the tools of the Copilot chat',
  },
]

/** Returns whether its file is in the current folder, which is read only on request. */
export const isOfFolder = ({ id }: ClientProgram): boolean => id === 'librechat'
