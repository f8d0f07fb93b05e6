import { realpathSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { homeFolder } from '../../kernel/machine/who-am-i.js'
import type { Environment } from '../types.js'

/** The folders of the default configuration, its secrets, the state and backups. */
const privateFolders = (home: string, env: Environment): readonly string[] =>
  [
    join(home, '.config'),
    join(home, '.local', 'state'),
    ...['XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'APPDATA', 'LOCALAPPDATA'].map(name => env[name]),
  ].flatMap(parent => (parent !== undefined && isAbsolute(parent) ? [join(parent, 'mcp-proxy')] : []))

const isWithin = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way === '' || (!/^\.\.(?:[/\\]|$)/.test(way) && !isAbsolute(way))
}

const realPath = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}

/**
 * Returns the folder for programs without `cwd`: the configuration's folder, or the home folder if the
 * former holds secrets, state or backups of the proxy.
 */
export const programFolder = (folder: string, env: Environment): string => {
  const home = homeFolder()
  const own = privateFolders(home, env).flatMap(each => [each, realPath(each)])
  const isPrivate = [folder, realPath(folder)].some(each => own.some(parent => isWithin(parent, each)))
  return isPrivate ? home : folder
}
