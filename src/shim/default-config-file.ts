import { posix, win32 } from 'node:path'

interface Place {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Returns the default configuration file, which may not exist. */
export const defaultConfigFile = ({ platform, home, env }: Place): string => {
  if (platform !== 'win32') return posix.join(home, '.config', 'mcp-proxy', 'mcp.json')
  const roaming = env['APPDATA'] || win32.join(home, 'AppData', 'Roaming')
  return win32.join(roaming, 'mcp-proxy', 'mcp.json')
}
