import { existsSync, lstatSync, readFileSync, realpathSync, type Stats, statfsSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { isObject } from '../../kernel/object.js'
import { mayWrite } from '../../setup/files/disk.js'
import type { InstallationFacts, NamesakeFacts, StateFacts } from '../facts.js'

/** The location of this program and its runtime. */
export interface Installed {
  readonly version: string
  /** The package folder. */
  readonly folder: string
  readonly state: string
  readonly path: string
  readonly platform: NodeJS.Platform
  readonly node: string
  /** The user id; undefined on systems without one. */
  readonly uid: number | undefined
}

/** Files required at runtime. */
const FILES = [
  ...['bin/package.json', 'bin/mcp-proxy.js', 'bin/connect.cjs', 'bin/parts.cjs'],
  ...['dist/cli/main.cjs', 'dist/index.js'],
]

export const readInstallation = ({
  version,
  folder,
  state,
  path,
  platform,
  node,
  uid,
}: Installed): InstallationFacts => ({
  node,
  platform,
  version,
  folder,
  damaged: [
    ...FILES.filter(file => !existsSync(join(folder, file))).map(file => `${file} is missing`),
    ...(manifestOf(folder)?.version === version ? [] : ['package.json is of another version']),
  ],
  onPath: namesakes(path, platform),
  state: readState(state, uid),
})

interface Manifest {
  readonly name: string
  readonly version: string
}

const manifestOf = (folder: string): Manifest | undefined => {
  try {
    const value: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    if (!isObject(value) || typeof value['name'] !== 'string') return undefined
    return { name: value['name'], version: String(value['version']) }
  } catch {
    return undefined
  }
}

const namesakes = (path: string, platform: NodeJS.Platform): readonly NamesakeFacts[] => {
  const names = platform === 'win32' ? ['mcp-proxy.exe', 'mcp-proxy.cmd'] : ['mcp-proxy']
  const found = new Map<string, NamesakeFacts>()
  for (const folder of path.split(delimiter)) {
    for (const name of names) {
      const file = join(folder, name)
      if (folder === '' || !existsSync(file)) continue
      const real = realpathSync(file)
      if (!found.has(real)) found.set(real, { path: file, ...packageOf(real) })
    }
  }
  return [...found.values()]
}

const DEEPEST = 6

/** Returns the package of a file: the nearest parent folder with a name, or a sibling on Windows. */
const packageOf = (file: string): Pick<NamesakeFacts, 'folder' | 'package'> => {
  let folder = dirname(file)
  const beside = join(folder, 'node_modules', 'mcp-proxy-daemon')
  if (manifestOf(beside) !== undefined) return { folder: beside, package: 'mcp-proxy-daemon' }
  for (let steps = 0; steps < DEEPEST; steps += 1) {
    const manifest = manifestOf(folder)
    if (manifest !== undefined) return { folder, package: manifest.name }
    folder = dirname(folder)
  }
  return { folder: undefined, package: undefined }
}

/** Returns the state folder, or the parent in which it would be created. */
const readState = (path: string, uid: number | undefined): StateFacts => {
  const found = entryAt(path)
  if (found === undefined) {
    const above = nearest(path)
    const isWritable = entryAt(above)?.isFile() !== true && mayWrite(above)
    return { path, mode: undefined, isOurs: true, isWritable, freeBytes: freeAt(above) }
  }
  const isOurs = found.isDirectory() && (uid === undefined || found.uid === uid)
  return { path, mode: found.mode & 0o777, isOurs, isWritable: mayWrite(path), freeBytes: freeAt(path) }
}

const entryAt = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // A part of the path is not a folder, or is not searchable.
    return undefined
  }
}

const nearest = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearest(dirname(path))

const freeAt = (path: string): number | undefined => {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return undefined
  }
}
