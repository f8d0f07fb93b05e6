/** What any program needs to find its files, speak its language and reach the network, on every platform. */
const EVERYWHERE = [
  'LANG',
  'TZ',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'NPM_CONFIG_CACHE',
  'NPM_CONFIG_REGISTRY',
  'NPM_CONFIG_PREFIX',
]

const POSIX = [
  'HOME',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'USER',
  'TMPDIR',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_DIRS',
  'XDG_CONFIG_HOME',
  'XDG_DATA_DIRS',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_STATE_HOME',
]

// The list of the official SDK (`DEFAULT_INHERITED_ENV_VARS` in its client/stdio), plus what `cmd` shims need.
const WINDOWS = [
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
]

/** Names that programs read in lower case too; the rest must match as it is written on POSIX. */
const EITHER_CASE = /^(?:https?_proxy|no_proxy|npm_config_(?:cache|registry|prefix))$/

const posixNames = new Set([...EVERYWHERE, ...POSIX])
const windowsNames = new Set([...EVERYWHERE, ...WINDOWS])

function isInherited(name: string, platform: NodeJS.Platform): boolean {
  if (platform === 'win32') return windowsNames.has(name.toUpperCase())
  return posixNames.has(name) || name.startsWith('LC_') || EITHER_CASE.test(name)
}

/**
 * The environment of a child: what is harmless and needed from ours, and what the operator configured, which
 * wins. Our own secrets (API keys of other servers, tokens of the shell) never reach a server by accident.
 */
export function childEnv(
  parent: Readonly<Record<string, string | undefined>>,
  configured: Readonly<Record<string, string>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  // Windows takes `Path` and `PATH` for one variable and hands over whichever comes first.
  const keyOf = (name: string) => (platform === 'win32' ? name.toUpperCase() : name)
  const env = new Map<string, readonly [name: string, value: string]>()
  for (const [name, value] of Object.entries(parent)) {
    if (value === undefined || !isInherited(name, platform)) continue
    // An exported shell function; older shells run what stands behind it (CVE-2014-6271).
    if (value.startsWith('()')) continue
    env.set(keyOf(name), [name, value])
  }
  for (const [name, value] of Object.entries(configured)) env.set(keyOf(name), [name, value])
  return Object.fromEntries(env.values())
}
