import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { typeAs } from '../../kernel/machine/own-command.js'
import { installCommand, OWN_PACKAGE } from '../../kernel/machine/own-package.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import { homeFolder } from '../../kernel/machine/who-am-i.js'
import { mayWrite } from '../../setup/files/disk.js'
import { isInNpxCache } from '../../setup/install/programs.js'
import { confirm, isInteractive } from './output/ask.js'
import { printToStderr } from './output/output.js'
import { CliError, EXIT } from './verb.js'

/** Returns the error for a program in the npx cache, with the command that installs it. */
export const fromCache = (own = ownShim()): CliError =>
  new CliError(EXIT.usage, 'nothing was written: this runs from the cache of npx', {
    why: 'clients start what is installed, and the cache may be gone tomorrow',
    fix: ['npm i -g', ...askedOf(own)].join(' '),
  })

const ownShim = (): string => fileURLToPath(packageFile('bin/connect.cjs'))

/**
 * Returns the shim for clients' files: the one of this installation or, if that is in the npx cache, of a new
 * installation if the user agrees. Rejects with a CliError before anything is written.
 */
export const permanentShim = async (isAgreed: boolean, own = ownShim()): Promise<string> => {
  if (!isInNpxCache(own)) return own
  if (!isAgreed && !isInteractive()) throw fromCache(own)
  const at = placeFor((await npm(['prefix', '-g'], own)).trim())
  const what = askedOf(own)
  const shown = ['npm i -g', ...at, ...what].join(' ')
  const question = `Install mcp-proxy globally? Clients need a permanent copy (${shown})`
  if (!isAgreed && !(await confirm(question))) throw fromCache(own)
  printToStderr(shown)
  await npm(['i', '-g', ...at, '--no-audit', '--no-fund', ...what], own)
  const root = (await npm(['root', '-g', ...at], own)).trim()
  const bin = join(root, OWN_PACKAGE.name, 'bin')
  typeAs(join(bin, 'mcp-proxy.js'))
  return join(bin, 'connect.cjs')
}

/** A system Node keeps its packages where only root may write; the user's own folder is always writable. */
const placeFor = (prefix: string): readonly string[] => {
  const folder = join(prefix, 'lib', 'node_modules')
  if (process.platform === 'win32' || mayWrite(existsSync(folder) ? folder : prefix)) return []
  return ['--prefix', join(homeFolder(), '.local')]
}

/** The npx metadata next to a cached package. */
interface Kept {
  readonly dependencies: Readonly<Record<string, string>>
}

/** Returns the npm arguments for the package: the file given to npx, or the installed package. */
const askedOf = (own: string): readonly string[] => {
  const cache = own.slice(0, own.lastIndexOf('node_modules'))
  try {
    const { dependencies } = JSON.parse(readFileSync(join(cache, 'package.json'), 'utf8')) as Kept
    const [, file] = /^file:(.*)$/.exec(dependencies[OWN_PACKAGE.name] ?? '') ?? []
    if (file !== undefined) return [resolve(cache, file)]
  } catch {
    // Other npm versions store it elsewhere.
  }
  return installCommand(dirname(dirname(own)))
}

/** Runs npm. Resolves with its stdout; rejects with a CliError if it fails. */
const npm = (args: readonly string[], own: string): Promise<string> =>
  new Promise((resolve, reject) => {
    // npx sets variables that would point npm to its cache.
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
    child.once('error', () => reject(fromCache(own)))
    child.once('close', code => (code === 0 ? resolve(text) : reject(fromCache(own))))
  })
