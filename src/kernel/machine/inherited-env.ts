const names = (text: string): string[] => text.trim().split(/\s+/)

/** Variables for files, language and network on every platform. */
const EVERYWHERE = names(`
  LANG TZ NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR HTTP_PROXY HTTPS_PROXY NO_PROXY
  NPM_CONFIG_CACHE NPM_CONFIG_REGISTRY NPM_CONFIG_PREFIX
`)

const POSIX = names(`
  HOME LOGNAME PATH SHELL TERM USER TMPDIR XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME
  XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
`)

/** The official SDK's list (`DEFAULT_INHERITED_ENV_VARS` in client/stdio), plus variables for `cmd` shims. */
const WINDOWS = names(`
  APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES
  SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE
`)

/** Variables that programs also read in lower case. */
const EITHER_CASE = /^(?:https?_proxy|no_proxy|npm_config_(?:cache|registry|prefix))$/

const posixNames = new Set([...EVERYWHERE, ...POSIX])
const windowsNames = new Set([...EVERYWHERE, ...WINDOWS])

function isInherited(name: string, platform: NodeJS.Platform): boolean {
  if (platform === 'win32') return windowsNames.has(name.toUpperCase())
  return posixNames.has(name) || name.startsWith('LC_') || EITHER_CASE.test(name)
}

type Parent = Readonly<Record<string, string | undefined>>
type Configured = Readonly<Record<string, string>>

/** Opens the stored logins of all servers, so no server gets it. */
const STORE_KEY = 'MCP_PROXY_STORE_KEY'

/**
 * Returns the environment of a child: harmless variables of this process, and the configured ones, which take
 * precedence. Keeps secrets (API keys of other servers, tokens of the shell) from the server.
 */
export const inheritedEnv = (
  parent: Parent,
  configured: Configured,
  platform: NodeJS.Platform,
): Record<string, string> => {
  // Skips exported shell functions: old shells execute the code after them (CVE-2014-6271).
  const harmless = Object.entries(parent).filter(
    ([name, value]) => isInherited(name, platform) && value?.startsWith('()') !== true,
  )
  return merged(harmless, configured, platform)
}

/** Returns the whole environment of this process, and the configured variables, which take precedence. */
export const wholeEnv = (
  parent: Parent,
  configured: Configured,
  platform: NodeJS.Platform,
): Record<string, string> => {
  const others = Object.entries(parent).filter(([name]) => name.toUpperCase() !== STORE_KEY)
  return merged(others, configured, platform)
}

const merged = (
  parent: readonly (readonly [name: string, value: string | undefined])[],
  configured: Configured,
  platform: NodeJS.Platform,
): Record<string, string> => {
  // Windows ignores the case of names and keeps the first of several.
  const keyOf = (name: string) => (platform === 'win32' ? name.toUpperCase() : name)
  const env = new Map<string, readonly [name: string, value: string]>()
  for (const [name, value] of [...parent, ...Object.entries(configured)])
    if (value !== undefined) env.set(keyOf(name), [name, value])
  return Object.fromEntries(env.values())
}
