import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { isObject } from '../../kernel/object.js'
import type { ClientMachine } from '../clients/machine.js'
import type { Json } from '../edit/change.js'

/**
 * Adds an entry with the client's own program; resolves with false if that failed or is not safe. Never
 * rejects.
 */
export type AddEntry = (name: string, entry: Readonly<Record<string, Json>>) => Promise<boolean>

const LIMIT_MS = 30_000

/**
 * Returns `claude mcp add-json` if Claude Code is on PATH. A running Claude Code keeps its file in memory and
 * would overwrite our changes. Undefined without the program.
 */
export const claudeProgram = async ({
  env,
  platform,
  home,
}: ClientMachine): Promise<AddEntry | undefined> => {
  const names = platform === 'win32' ? ['claude.exe', 'claude.cmd'] : ['claude']
  const folders = (env['PATH'] ?? '').split(delimiter).filter(folder => isAbsolute(folder))
  for (const path of folders.flatMap(folder => names.map(name => join(folder, name)))) {
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere)
      return async (name, entry) => isPublic(entry) && (await add(path, [name, JSON.stringify(entry)], home))
  }
  return undefined
}

/** Returns whether an entry holds no secrets: all users of a machine can read program arguments. */
const isPublic = ({ env = {}, headers, url = 'http://x' }: Readonly<Record<string, Json>>): boolean => {
  if (headers !== undefined || !isObject(env) || typeof url !== 'string' || !URL.canParse(url)) return false
  const { username, password, search } = new URL(url)
  return username + password + search === '' && Object.keys(env).every(name => PLACES.has(name))
}

const PLACES: ReadonlySet<string> = new Set(['MCP_PROXY_RUN_DIR', 'XDG_STATE_HOME'])

const add = (path: string, words: readonly string[], cwd: string): Promise<boolean> =>
  new Promise(resolve => {
    const args = ['mcp', 'add-json', '-s', 'user', ...words]
    const child = spawn(path, args, { cwd, stdio: 'ignore', timeout: LIMIT_MS, windowsHide: true })
    child.once('error', () => resolve(false))
    child.once('close', code => resolve(code === 0))
  })
