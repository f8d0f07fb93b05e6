import { join } from 'node:path'
import type { Environment } from '../../config/types.js'

/** The environment that file locations depend on. */
export interface ClientMachine {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly cwd: string
  readonly env: Environment
}

const named = ({ env }: ClientMachine, name: string): string | undefined => {
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  return value === '' ? undefined : value
}

/** Settings folders of programs, by system convention. */
export interface Folders {
  readonly home: string
  readonly cwd: string
  /** XDG config folder on Linux and macOS, roaming AppData on Windows. */
  readonly config: string
  /** `~/Library/Application Support` on macOS; otherwise equal to `config`. */
  readonly application: string
  /** Local AppData on Windows; otherwise equal to `config`. */
  readonly local: string
  readonly isWindows: boolean
  readonly named: (variable: string) => string | undefined
}

export const foldersOf = (machine: ClientMachine): Folders => {
  const { platform, home, cwd } = machine
  const isWindows = platform === 'win32'
  const find = (variable: string): string | undefined => named(machine, variable)
  const xdg = find('XDG_CONFIG_HOME') ?? join(home, '.config')
  const config = isWindows ? (find('APPDATA') ?? join(home, 'AppData', 'Roaming')) : xdg
  return {
    home,
    cwd,
    config,
    application: platform === 'darwin' ? join(home, 'Library', 'Application Support') : config,
    local: isWindows ? (find('LOCALAPPDATA') ?? join(home, 'AppData', 'Local')) : xdg,
    isWindows,
    named: find,
  }
}
