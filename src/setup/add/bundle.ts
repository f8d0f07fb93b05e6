import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, posix, resolve, sep } from 'node:path'
import { type UnzipFileInfo, unzipSync } from 'fflate'
import { isObject } from '../../kernel/object.js'
import type { Json } from '../edit/change.js'
import type { ContainerMembers } from '../edit/containers.js'
import { literal, variableName } from '../import/escapes.js'
import type { ImportedEntry } from '../import/normalise.js'
import { SetupError } from '../setup-error.js'
import type { Described } from './server-json.js'

const MAX_BYTES = 512 * 1024 * 1024
const MAX_FILES = 20_000

export interface Bundle extends Described {
  readonly name: string
  /** Extracts its files to the entry's folder; idempotent. */
  readonly unpack: () => Promise<void>
}

/**
 * Reads a bundle (.mcpb, manifest 0.3): a zip file with a manifest. Its files go to a subfolder of `folder`
 * named after its content. Throws a SetupError.
 */
export const readBundle = (file: string, bytes: Uint8Array, folder: string): Bundle => {
  const files = unzipped(file, bytes)
  const manifest = manifestIn(file, files['manifest.json'])
  const server = isObject(manifest['server']) ? manifest['server'] : {}
  const config = isObject(server['mcp_config']) ? forPlatform(server['mcp_config']) : {}
  if (typeof config['command'] !== 'string') throw new SetupError(file, 'its manifest names no command')
  const name = typeof manifest['name'] === 'string' ? manifest['name'] : 'bundle'
  const place = join(
    folder,
    `${name.replace(/[^\w.-]+/g, '_')}-${createHash('sha256').update(bytes).digest('hex').slice(0, 10)}`,
  )
  const inputs = new Set<string>()
  const options = isObject(manifest['user_config']) ? manifest['user_config'] : {}
  const expand = (text: string): string =>
    text.replace(
      /\$\{(?:(__dirname|HOME|DESKTOP|DOCUMENTS|DOWNLOADS|\/|pathSeparator|user_config\.([\w-]+))\})?/g,
      (all, what?: string, key?: string) => {
        // The client passes on other text.
        if (what === undefined) return literal(all)
        return key === undefined ? (places(place)[what] ?? all) : optionOf(key, options[key], inputs)
      },
    )
  const described = entryOf(config, expand)
  const isInside = [described.command, ...argumentsOf(config)].some(word =>
    Object.hasOwn(files, posix.normalize(word)),
  )
  const entry = isInside ? { ...described, cwd: place } : described
  return { name, entry, inputs: [...inputs], unpack: () => unpack(files, place, entry.command) }
}

const unzipped = (file: string, bytes: Uint8Array): Readonly<Record<string, Uint8Array>> => {
  let length = 0
  let count = 0
  const filter = ({ originalSize }: UnzipFileInfo): boolean => {
    length += originalSize
    count += 1
    if (length > MAX_BYTES || count > MAX_FILES) throw new SetupError(file, 'this bundle is too large')
    return true
  }
  try {
    return unzipSync(bytes, { filter })
  } catch (thrown) {
    throw thrown instanceof SetupError ? thrown : new SetupError(file, 'this is not a bundle (.mcpb)')
  }
}

const manifestIn = (file: string, bytes: Uint8Array | undefined): ContainerMembers => {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    if (isObject(value)) return value
  } catch {
    // Reported below.
  }
  throw new SetupError(file, 'its manifest.json is missing or not JSON')
}

const forPlatform = (config: ContainerMembers): ContainerMembers => {
  const overrides = isObject(config['platform_overrides']) ? config['platform_overrides'] : {}
  const own = overrides[sep === '\\' ? 'win32' : 'linux']
  return isObject(own) ? { ...config, ...own } : config
}

const places = (place: string): Readonly<Partial<Record<string, string>>> => ({
  __dirname: place,
  '/': sep,
  pathSeparator: sep,
  HOME: '${userHome}',
  DESKTOP: '${userHome}/Desktop',
  DOCUMENTS: '${userHome}/Documents',
  DOWNLOADS: '${userHome}/Downloads',
})

const optionOf = (key: string, option: unknown, inputs: Set<string>): string => {
  const usual = isObject(option) && option['sensitive'] !== true ? option['default'] : undefined
  if (usual !== undefined && !isObject(usual)) return [usual].flat().map(String).join(' ')
  inputs.add(variableName(key))
  return `\${${variableName(key)}}`
}

const argumentsOf = ({ args }: ContainerMembers): readonly string[] =>
  Array.isArray(args) ? args.map(String) : []

const entryOf = (
  { command, args, env }: ContainerMembers,
  expand: (text: string) => string,
): ImportedEntry & { command: string } => {
  const words = argumentsOf({ args }).map(expand)
  const variables = Object.entries(isObject(env) ? env : {}).map(([name, value]): [string, Json] => [
    name,
    expand(String(value)),
  ])
  return {
    command: expand(String(command)),
    ...(words.length === 0 ? {} : { args: words }),
    ...(variables.length === 0 ? {} : { env: Object.fromEntries(variables) }),
  }
}

/** Extracts to a temporary folder first, so that the final folder is complete or missing. */
const unpack = async (
  files: Readonly<Record<string, Uint8Array>>,
  place: string,
  command: string,
): Promise<void> => {
  const draft = `${place}.${randomBytes(6).toString('hex')}.tmp`
  await rm(draft, { recursive: true, force: true })
  for (const [name, bytes] of Object.entries(files)) {
    const path = resolve(draft, name)
    if (!path.startsWith(draft + sep)) throw new SetupError(name, 'this bundle has files outside itself')
    if (name.endsWith('/')) continue
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(path, bytes)
    if (command === join(place, name)) await chmod(path, 0o700)
  }
  await rm(place, { recursive: true, force: true })
  await rename(draft, place)
}
