/**
 * Syntax that a client replaces in entries: `${NAME}` (`name`), `${NAME:-text}` (`default`), `${env:NAME}`
 * (`env`), `$NAME` (`dollar`), `%NAME%` (`percent`), `${input:ID}` (`input`), `${workspaceFolder}` and so on
 * (`editor`), `${file:PATH}` (`file`), `{env:NAME}` and `{file:PATH}` (`braces`), `${{ secrets.NAME }}`
 * (`secrets`), and forms that run something, such as `${command:ID}` and `$(…)` (`run`).
 */
export type VariableForm =
  | 'name'
  | 'default'
  | 'env'
  | 'dollar'
  | 'percent'
  | 'input'
  | 'editor'
  | 'file'
  | 'braces'
  | 'secrets'
  | 'run'

/** Conventions of the files that a program reads servers from. */
export interface ClientFormat {
  /** Id of the client, if it is one that we edit. */
  readonly id: string
  readonly label: string
  /** Ends of the paths of its files, in lower case. */
  readonly files: readonly string[]
  /** Keys that only its files or its entries have. */
  readonly keys: readonly string[]
  /** Unit of `timeout`; `unclear` if the program documents none. */
  readonly timeoutUnit: 's' | 'ms' | 'unclear'
  readonly variables: readonly VariableForm[]
  /** Its ways to switch a server off, as keys and places. */
  readonly off: readonly string[]
  /** True if its `"type": "http"` falls back to HTTP+SSE. */
  readonly fallsBack?: true
  /** True if it speaks HTTP over local sockets. */
  readonly hasHttpSockets?: true
  /** Page or source file with these conventions. */
  readonly source: string
}

type Row = readonly [
  id: string,
  label: string,
  facts: Omit<ClientFormat, 'id' | 'label' | 'timeoutUnit' | 'keys' | 'off'> &
    Partial<Pick<ClientFormat, 'timeoutUnit' | 'keys' | 'off'>>,
]

const EDITOR = ['env', 'input', 'editor', 'run'] as const
const VSCODE = {
  keys: ['inputs'],
  variables: EDITOR,
  off: ['chat.mcp.access', 'chat.mcp.enabled', 'chat.disableAIFeatures'],
  fallsBack: true,
  hasHttpSockets: true,
  source: 'code.visualstudio.com/docs/copilot/reference/mcp-configuration',
} as const
const GEMINI = {
  timeoutUnit: 'ms',
  variables: ['name', 'dollar', 'percent'],
  off: ['mcp.allowed', 'mcp.excluded', 'allowMCPServers', 'excludeMCPServers', 'mcp-server-enablement.json'],
} as const
const CLINE_KEYS = { timeoutUnit: 's', off: ['disabled'] } as const

const ROWS: readonly Row[] = [
  [
    'claude-code',
    'Claude Code',
    {
      files: ['/.mcp.json', '/.claude.json', '/managed-mcp.json'],
      keys: ['headersHelper', 'alwaysLoad', 'projects'],
      timeoutUnit: 'ms',
      variables: ['name', 'default'],
      off: ['disabledMcpServers', 'enabledMcpjsonServers', 'disabledMcpjsonServers', 'deniedMcpServers'],
      source: 'code.claude.com/docs/en/mcp',
    },
  ],
  [
    'cursor',
    'Cursor',
    {
      files: ['/.cursor/mcp.json'],
      variables: ['env', 'editor'],
      fallsBack: true,
      source: 'cursor.com/docs/mcp',
    },
  ],
  ['vscode', 'VS Code', { files: ['/.vscode/mcp.json', '/code/user/mcp.json'], ...VSCODE }],
  ['vscode-insiders', 'VS Code Insiders', { files: ['/code - insiders/user/mcp.json'], ...VSCODE, keys: [] }],
  [
    'claude-desktop',
    'Claude Desktop',
    {
      files: ['/claude_desktop_config.json'],
      variables: [],
      source: 'modelcontextprotocol.io/docs/develop/connect-local-servers',
    },
  ],
  [
    'windsurf',
    'Windsurf',
    {
      files: ['/mcp_config.json'],
      keys: ['serverUrl'],
      variables: ['env', 'file'],
      off: ['disabled'],
      fallsBack: true,
      source: 'docs.windsurf.com/windsurf/cascade/mcp',
    },
  ],
  [
    'zed',
    'Zed',
    {
      files: ['/zed/settings.json', '/.zed/settings.json'],
      keys: ['context_servers'],
      timeoutUnit: 's',
      variables: [],
      off: ['enabled', 'disable_ai', 'agent.enabled'],
      source: 'zed.dev/docs/ai/mcp',
    },
  ],
  [
    'gemini',
    'Gemini CLI',
    {
      files: ['/.gemini/settings.json'],
      keys: ['httpUrl', 'trust', 'includeTools', 'authProviderType'],
      ...GEMINI,
      source: 'google-gemini/gemini-cli: packages/cli/src/utils/envVarResolver.ts',
    },
  ],
  [
    'codex',
    'Codex',
    {
      files: ['/.codex/config.toml'],
      keys: [
        'mcp_servers',
        'tool_timeout_sec',
        'startup_timeout_sec',
        'bearer_token_env_var',
        'env_http_headers',
      ],
      timeoutUnit: 's',
      variables: [],
      off: ['enabled'],
      source: 'openai/codex: codex-rs/config/src/mcp_types.rs',
    },
  ],
  [
    'cline',
    'Cline',
    {
      files: ['/cline_mcp_settings.json', '/.cline/mcp.json'],
      keys: ['remoteConfigured'],
      variables: ['env'],
      ...CLINE_KEYS,
      source: 'cline/cline: src/services/mcp/schemas.ts',
    },
  ],
  [
    'roo',
    'Roo Code',
    {
      files: [
        '/.roo/mcp.json',
        '/rooveterinaryinc.roo-cline/settings/mcp_settings.json',
        '/.kilocode/mcp.json',
        '/kilocode.kilo-code/settings/mcp_settings.json',
      ],
      keys: ['alwaysAllow', 'watchPaths'],
      variables: ['env', 'editor'],
      ...CLINE_KEYS,
      source: 'RooCodeInc/Roo-Code: src/services/mcp/McpHub.ts, src/utils/config.ts',
    },
  ],
  [
    'continue',
    'Continue',
    {
      files: ['/.continue/config.yaml'],
      keys: ['requestOptions', 'connectionTimeout', 'faviconUrl'],
      timeoutUnit: 'ms',
      variables: ['secrets'],
      source: 'continuedev/continue: packages/config-yaml/src/schemas/mcp',
    },
  ],
  [
    'librechat',
    'LibreChat',
    {
      files: ['/librechat.yaml'],
      keys: ['initTimeout', 'customUserVars', 'sseReadTimeout', 'chatMenu', 'serverInstructions'],
      timeoutUnit: 'ms',
      variables: ['name'],
      source: 'danny-avila/LibreChat: packages/data-provider/src/mcp.ts',
    },
  ],
  [
    'goose',
    'Goose',
    {
      files: ['/goose/config.yaml', '/goose/config/config.yaml'],
      keys: ['extensions', 'envs', 'env_keys'],
      timeoutUnit: 's',
      variables: [],
      off: ['enabled'],
      source: 'block/goose: crates/goose/src/agents/extension_manager.rs',
    },
  ],
  [
    'opencode',
    'OpenCode',
    {
      files: ['/opencode.json', '/opencode.jsonc'],
      keys: ['environment'],
      timeoutUnit: 'ms',
      variables: ['braces'],
      off: ['enabled'],
      source: 'opencode.ai/docs/config',
    },
  ],
  [
    'copilot-cli',
    'Copilot CLI',
    {
      files: ['/.copilot/mcp-config.json', '/mcp-config.json', '/.github/mcp.json'],
      variables: ['name', 'default', 'dollar'],
      fallsBack: true,
      source: 'docs.github.com/en/copilot/how-tos/copilot-cli',
    },
  ],
  [
    'jetbrains',
    'Copilot for JetBrains',
    {
      files: ['/github-copilot/intellij/mcp.json'],
      variables: EDITOR,
      fallsBack: true,
      source: 'docs.github.com/en/copilot/how-tos/provide-context/use-mcp/extend-copilot-chat-with-mcp',
    },
  ],
  [
    'kiro',
    'Kiro',
    {
      files: ['/.kiro/settings/mcp.json'],
      timeoutUnit: 'ms',
      variables: ['name'],
      off: ['disabled'],
      source: 'kiro.dev/docs/mcp/configuration',
    },
  ],
  [
    'lmstudio',
    'LM Studio',
    {
      files: ['/.lmstudio/mcp.json', '/.cache/lm-studio/mcp.json'],
      variables: [],
      source: 'lmstudio.ai/docs/app/plugins/mcp',
    },
  ],
  [
    'crush',
    'Crush',
    {
      files: ['/crush/crush.json', '/.crush.json', '/crush.json'],
      timeoutUnit: 's',
      variables: ['name', 'dollar', 'run'],
      off: ['disabled'],
      source: 'charmbracelet/crush: README.md, internal/config/config.go',
    },
  ],
  [
    'amp',
    'Amp',
    {
      files: ['/amp/settings.json', '/amp/settings.jsonc', '/.amp/settings.json', '/.amp/settings.jsonc'],
      keys: ['amp.mcpServers', 'amp.mcpPermissions'],
      variables: ['name'],
      off: ['amp.mcpPermissions'],
      fallsBack: true,
      source: 'ampcode.com/manual',
    },
  ],
  [
    'visual-studio',
    'Visual Studio',
    {
      files: ['/.vs/mcp.json'],
      variables: EDITOR,
      source: 'learn.microsoft.com/visualstudio/ide/mcp-servers',
    },
  ],
  [
    'cherry-studio',
    'Cherry Studio',
    {
      files: [],
      keys: ['isActive', 'registryUrl', 'longRunning'],
      timeoutUnit: 's',
      variables: [],
      off: ['isActive'],
      source: 'CherryHQ/cherry-studio: src/renderer/src/types/mcp.ts',
    },
  ],
  [
    'qwen',
    'Qwen Code',
    {
      files: ['/.qwen/settings.json'],
      ...GEMINI,
      source: 'QwenLM/qwen-code: packages/cli/src/utils/envVarResolver.ts',
    },
  ],
]

/** All known formats, which docs/clients.md lists. */
export const FORMATS: readonly ClientFormat[] = ROWS.map(([id, label, facts]) => ({
  timeoutUnit: 'unclear',
  keys: [],
  off: [],
  ...facts,
  id,
  label,
}))

/** Returns the format of a client's files. */
export const formatOf = (id: string): ClientFormat | undefined => FORMATS.find(each => each.id === id)
