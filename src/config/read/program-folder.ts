import { realpathSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { homeFolder } from '../../machine/who-am-i.js'
import type { Environment } from '../types.js'

/** The folders of our default configuration, its secrets, our state and backups. */
const privateFolders = (home: string, env: Environment): readonly string[] =>
  [
    join(home, '.config'),
    join(home, '.local', 'state'),
    ...['XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'APPDATA', 'LOCALAPPDATA'].map(name => env[name]),
  ].flatMap(parent => (parent !== undefined && isAbsolute(parent) ? [join(parent, 'mcp-proxy')] : []))

/** Whether a path is a folder or inside it. */
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
 * The folder in which a program without `cwd` runs: the folder of its configuration file, or the home folder
 * where that one holds our secrets, state or backups.
 */
export const programFolder = (folder: string, env: Environment): string => {
  const home = homeFolder()
  const own = privateFolders(home, env).flatMap(each => [each, realPath(each)])
  const isPrivate = [folder, realPath(folder)].some(each => own.some(parent => isWithin(parent, each)))
  return isPrivate ? home : folder
}
