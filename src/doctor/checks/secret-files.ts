import { isAbsolute, join, relative, resolve } from 'node:path'
import type { ServerTransport } from '../../config/types.js'
import { homeFolder } from '../../machine/who-am-i.js'
import type { ConfigFacts } from '../facts.js'
import { type Finding, finding } from '../finding.js'

/** Whether a path is a folder or lies in it. */
const isWithin = (folder: string, path: string): boolean => {
  const way = relative(folder, path)
  return way === '' || (!/^\.\.(?:[/\\]|$)/.test(way) && !isAbsolute(way))
}

/** The paths in an argument, also behind `--flag=` and before `:/inside` (Docker). */
const pathsIn = (word: string, cwd: string): readonly string[] =>
  word
    .split(/[=,;]/)
    .flatMap(part => [part, ...part.split(/:(?=[/\\])/)])
    .flatMap(part => {
      const path = part.replace(/^~(?=[/\\]|$)/, () => homeFolder())
      return isAbsolute(path) || /^\.\.?(?:[/\\]|$)/.test(path) ? [resolve(cwd, path)] : []
    })

/**
 * The folder through which a program reaches a file of ours. The home folder counts only as an argument:
 * programs run there.
 */
const folderFor = (transport: ServerTransport, secret: string): string | undefined => {
  if (transport.kind !== 'stdio') return undefined
  const { cwd = '', args } = transport
  if (cwd.includes('${')) return undefined
  if (isWithin(cwd, secret) && !isWithin(cwd, homeFolder())) return cwd
  return args.flatMap(word => pathsIn(word, cwd)).find(path => isWithin(path, secret))
}

/** Servers whose folder or arguments give them the file of secrets, or the copies of files with keys. */
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
