import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IDENTITY } from '../app/identity.js'
import { packageFile } from '../kernel/package-file.js'
import { isInNpxCache } from '../setup/install/programs.js'
import { confirm, isInteractive } from './output/ask.js'
import { say } from './output/output.js'
import { CliError, EXIT } from './verb.js'

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
  if (!isAgreed && !(await confirm(`Install it for good, so that clients find it (${INSTALL})?`)))
    throw fromCache()
  say(`npm i -g mcp-proxy-daemon@${IDENTITY.version}`)
  await npm(['i', '-g', '--no-audit', '--no-fund', `mcp-proxy-daemon@${IDENTITY.version}`])
  const root = (await npm(['root', '-g'])).trim()
  return join(root, 'mcp-proxy-daemon', 'bin', 'connect.cjs')
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
