import type { ChildProcess } from 'node:child_process'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { resolve } from 'node:path'
import { inheritedEnv } from '../kernel/machine/inherited-env.js'
import type { StartLock } from './lock.js'
import type { PlaceEnvironment, RuntimePaths } from './place.js'

/** Passes the start lock to the daemon. */
export const LOCK_VARIABLE = 'MCP_PROXY_LOCK'

export interface DaemonProgram {
  /** Path of node. */
  readonly execPath: string
  /** `bin/mcp-proxy.js` of this installation. */
  readonly script: string
  /** Absolute path. */
  readonly config: string
  readonly home: string
  readonly env: PlaceEnvironment
  /** Further arguments. */
  readonly more?: readonly string[] | undefined
  /** Called with the process, which is otherwise detached. */
  readonly onStart?: (child: ChildProcess) => void
}

/**
 * Starts the daemon with a minimal environment. Resolves with its exit code if it ends. Throws operating
 * system errors.
 */
export const startDaemon = (
  { log }: RuntimePaths,
  lock: StartLock,
  { execPath, script, config, home, env, more = [], onStart }: DaemonProgram,
): Promise<number | null> => {
  // On Windows, a program with a log file would keep its parent's console.
  const output = process.platform === 'win32' ? undefined : openSync(log, 'a', 0o600)
  try {
    // Loaded late, since most shims find a daemon.
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

/** Returns the start folder of user programs: the home folder, or the root folder if it is inaccessible. */
export const startFolder = (home: string): string => {
  try {
    accessSync(home, constants.X_OK)
    return home
  } catch {
    return resolve('/')
  }
}

/** Also passes on the run folder, and coverage for `npm run coverage`. */
const OWN = ['MCP_PROXY_RUN_DIR', 'NODE_V8_COVERAGE']

const daemonEnv = (env: PlaceEnvironment): Record<string, string> => {
  const own = OWN.flatMap(name => {
    const value = env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return inheritedEnv(env, Object.fromEntries(own), process.platform)
}
