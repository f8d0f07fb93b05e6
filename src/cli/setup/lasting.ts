import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IDENTITY } from '../../app/identity.js'
import { packageFile } from '../../machine/package-file.js'
import { mayWrite } from '../../setup/files/disk.js'
import { isInNpxCache } from '../../setup/install/programs.js'
import { confirm, isInteractive } from '../output/ask.js'
import { say } from '../output/output.js'
import { CliError, EXIT } from '../verb.js'

const INSTALL = 'npm i -g mcp-proxy-daemon'

const fromCache = (): CliError =>
  new CliError(EXIT.usage, 'nothing was written: this runs from the cache of npx', {
    why: 'clients start what is installed, and the cache may be gone tomorrow',
    mend: INSTALL,
  })

/**
 * The shim that clients may name in their files: that of this installation or, if it is only in the cache of
 * npx, of one that is made now, if the user agrees. Rejects with a CliError before anything is written.
 */
export const lastingShim = async (
  isAgreed: boolean,
  own = fileURLToPath(packageFile('bin/connect.cjs')),
): Promise<string> => {
  if (!isInNpxCache(own)) return own
  if (!isAgreed && !isInteractive()) throw fromCache()
  const at = placeFor((await npm(['prefix', '-g'])).trim())
  const shown = ['npm i -g', ...at, 'mcp-proxy-daemon'].join(' ')
  if (!isAgreed && !(await confirm(`Install it for good, so that clients find it (${shown})?`)))
    throw fromCache()
  const what = askedOf(own)
  say(['npm i -g', ...at, what].join(' '))
  await npm(['i', '-g', ...at, '--no-audit', '--no-fund', what])
  const root = (await npm(['root', '-g', ...at])).trim()
  return join(root, 'mcp-proxy-daemon', 'bin', 'connect.cjs')
}

/** A Node of the system keeps its packages where only root may write; everybody has a folder of their own. */
const placeFor = (prefix: string): readonly string[] => {
  const folder = join(prefix, 'lib', 'node_modules')
  if (process.platform === 'win32' || mayWrite(existsSync(folder) ? folder : prefix)) return []
  return ['--prefix', join(homedir(), '.local')]
}

/** What npx notes beside what it keeps. */
interface Kept {
  readonly dependencies: Readonly<Record<string, string>>
}

/** What npx was asked for, where that was a file; else this version. */
const askedOf = (own: string): string => {
  const cache = own.slice(0, own.lastIndexOf('node_modules'))
  try {
    const { dependencies } = JSON.parse(readFileSync(join(cache, 'package.json'), 'utf8')) as Kept
    const [, file] = /^file:(.*)$/.exec(dependencies['mcp-proxy-daemon'] ?? '') ?? []
    if (file !== undefined) return resolve(cache, file)
  } catch {
    // Another npm keeps it elsewhere.
  }
  return `mcp-proxy-daemon@${IDENTITY.version}`
}

/** Runs npm; resolves with what it writes to stdout, and rejects with a CliError if it fails. */
const npm = (args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    // npx sets variables that would lead npm to its cache.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(
        ([name]) => !/^npm_(?:config_(?:local_)?prefix|command|lifecycle|package)/.test(name),
      ),
    )
    const child = spawn('npm', args, {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      shell: process.platform === 'win32',
    })
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.once('error', () => reject(fromCache()))
    child.once('close', code => (code === 0 ? resolve(text) : reject(fromCache())))
  })
