import type { ChildProcess } from 'node:child_process'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { resolve } from 'node:path'
import { inheritedEnv } from '../machine/inherited-env.js'
import type { StartLock } from './lock.js'
import type { Environment, Place } from './place.js'

/** Names the lock that a daemon takes over from whoever started it. */
export const LOCK_VARIABLE = 'MCP_PROXY_LOCK'

export interface DaemonProgram {
  /** Of node. */
  readonly execPath: string
  /** `bin/mcp-proxy.js` of our own installation. */
  readonly script: string
  /** Absolute. */
  readonly config: string
  readonly home: string
  readonly env: Environment
  /** Further words of its command line. */
  readonly more?: readonly string[] | undefined
  /** Is told of the process, which otherwise is left to itself. */
  readonly onStart?: (child: ChildProcess) => void
}

/**
 * Starts the daemon of a place, with nothing of this process but what every program needs to find its files.
 * Resolves with its exit code should it end. Throws what the operating system throws.
 */
export const startDaemon = (
  { log }: Place,
  lock: StartLock,
  { execPath, script, config, home, env, more = [], onStart }: DaemonProgram,
): Promise<number | null> => {
  // With a file, a program on Windows keeps the console of its parent.
  const output = process.platform === 'win32' ? undefined : openSync(log, 'a', 0o600)
  try {
    // Not loaded by shims that find a daemon.
    const { spawn } = process.getBuiltinModule('node:child_process')
    const child = spawn(execPath, [script, 'serve', '--config', config, '--daemon', ...more], {
      detached: true,
      windowsHide: true,
      cwd: startFolder(home),
      env: { ...daemonEnv(env), [LOCK_VARIABLE]: lock.key },
      stdio: ['ignore', output ?? 'ignore', output ?? 'ignore'],
    })
    child.unref()
    onStart?.(child)
    return new Promise(resolve => {
      child.once('exit', resolve)
      child.once('error', () => resolve(null))
    })
  } finally {
    if (output !== undefined) closeSync(output)
  }
}

/** Where programs of a user start: the home folder, or the root folder if this user may not enter that. */
export const startFolder = (home: string): string => {
  try {
    accessSync(home, constants.X_OK)
    return home
  } catch {
    return resolve('/')
  }
}

/** Where we meet, and where Node says which code ran: with `npm run coverage`, also that of daemons. */
const OWN = ['MCP_PROXY_RUN_DIR', 'NODE_V8_COVERAGE']

const daemonEnv = (env: Environment): Record<string, string> => {
  const own = OWN.flatMap(name => {
    const value = env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return inheritedEnv(env, Object.fromEntries(own), process.platform)
}
