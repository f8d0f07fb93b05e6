import { isAbsolute, join, relative, resolve } from 'node:path'
import type { ServerTransport } from '../../config/types.js'
import { homeFolder } from '../../kernel/machine/who-am-i.js'
import type { ConfigFacts } from '../facts.js'
import { type Finding, finding } from '../finding.js'

/** Returns true if the path is the folder or inside it. */
const isWithin = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way === '' || (!/^\.\.(?:[/\\]|$)/.test(way) && !isAbsolute(way))
}

/** Returns the paths in an argument, including `--flag=PATH` and `PATH:/inside` (Docker). */
const pathsIn = (word: string, cwd: string): readonly string[] =>
  word
    .split(/[=,;]/)
    .flatMap(part => [part, ...part.split(/:(?=[/\\])/)])
    .flatMap(part => {
      const path = part.replace(/^~(?=[/\\]|$)/, () => homeFolder())
      return isAbsolute(path) || /^\.\.?(?:[/\\]|$)/.test(path) ? [resolve(cwd, path)] : []
    })

/**
 * Returns the folder through which a program can read a file of the proxy. The home folder counts only as an
 * argument, because programs run there.
 */
const folderFor = (transport: ServerTransport, secret: string): string | undefined => {
  if (transport.kind !== 'stdio') return undefined
  const { cwd = '', args } = transport
  if (cwd.includes('${')) return undefined
  if (isWithin(cwd, secret) && !isWithin(cwd, homeFolder())) return cwd
  return args.flatMap(word => pathsIn(word, cwd)).find(path => isWithin(path, secret))
}

/** Finds servers whose folder or arguments contain the secrets file or backups of files with keys. */
export const lookAtSecretFiles = ({ loaded, envFile }: ConfigFacts, state: string): readonly Finding[] => {
  const secrets = Object.keys(envFile.values).length > 0 ? [envFile.path] : []
  const files = [...secrets, join(state, 'backups')]
  return (loaded.config?.servers ?? []).flatMap(({ name: server, transport }) => {
    for (const file of files) {
      const folder = folderFor(transport, file)
      if (folder !== undefined) return [finding('D017', { server, file, folder }, { subject: server })]
    }
    return []
  })
}
