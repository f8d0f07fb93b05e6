import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { DEFAULTS } from '../config/defaults.js'
import { SMALL_FILE_BYTES } from '../config/file/small-file.js'
import { DEFAULT_ENV_FILE, envFileLine, parseEnvFile } from '../config/read/env-file.js'
import { programFolder } from '../config/read/program-folder.js'
import { isSwitchedOff, OFF_IF_FALSE, OFF_IF_TRUE } from '../config/schema/keys.js'
import type { Environment } from '../config/types.js'
import { BASE_PATH } from '../kernel/base-url.js'
import { isObject } from '../kernel/object.js'
import { localUrlHost } from '../kernel/url-address.js'
import type { ClientMachine } from './clients/machine.js'
import type { FileChange } from './edit/change.js'
import { type OpenFile, openFile } from './files/edit-file.js'
import {
  ConflictError,
  exclusively,
  type FileState,
  type Files,
  hashOf,
  readState,
  replaceFile,
  revisedTextOf,
} from './files/revise.js'
import type { ImportedEntry } from './import/normalise.js'
import { holdsSecrets } from './import/secrets.js'
import { SetupError } from './setup-error.js'

/** Our configuration, opened for editing, and its secrets file. */
export interface OwnFile {
  readonly file: OpenFile
  readonly secrets: FileState
  /** Path of its servers in the file. */
  readonly at: readonly string[]
  readonly servers: ReadonlyMap<string, ImportedEntry>
  readonly variables: Readonly<Record<string, string>>
  /** Addresses where a proxy of this file listens. */
  readonly urls: readonly string[]
  readonly home: string
  /** The environment, whose variables precede `variables`. */
  readonly env: Environment
  /** Default working folder of its programs. */
  readonly programFolder: string
}

/** Opens our configuration, which may be missing. Rejects with a SetupError. */
export const openOwnFile = async (
  files: Files,
  path: string,
  { home, env }: ClientMachine,
): Promise<OwnFile> => {
  const file = await openFile(files, path, 'jsonc')
  const root = isObject(file.value) ? file.value : {}
  const at = containerIn(root)
  const named =
    typeof root['envFile'] === 'string' && root['envFile'] !== '' ? root['envFile'] : DEFAULT_ENV_FILE
  const secrets = await readState(
    files.disk,
    resolve(dirname(resolve(path)), named.replace(/^~(?=[/\\])/, home)),
  )
  return {
    file,
    secrets,
    at,
    servers: new Map(
      serversOf(root, at).filter((each): each is [string, ImportedEntry] => isObject(each[1])),
    ),
    variables: parseEnvFile(revisedTextOf(secrets)),
    urls: urlsOf(isObject(root['listen']) ? root['listen'] : {}),
    home,
    env,
    programFolder: programFolder(dirname(resolve(path)), env),
  }
}

const serversOf = (
  root: Readonly<Record<string, unknown>>,
  [key]: readonly string[],
): [string, unknown][] => {
  const found = key === undefined ? root : root[key]
  return Object.entries(isObject(found) ? found : {})
}

/** Finds servers like `config/read/find-servers.ts`. */
const containerIn = (root: Readonly<Record<string, unknown>>): readonly string[] => {
  const key = ['mcpServers', 'servers', 'context_servers'].find(each => isObject(root[each]))
  if (key !== undefined) return [key]
  const isServer = (value: unknown): boolean => isObject(value) && ('command' in value || 'url' in value)
  return Object.values(root).some(isServer) ? [] : ['mcpServers']
}

const urlsOf = ({ host, port, path }: Readonly<Record<string, unknown>>): readonly string[] => {
  const base = typeof path === 'string' && BASE_PATH.test(path) ? path : ''
  const own = localUrlHost(typeof host === 'string' ? host : DEFAULTS.listen.host)
  const hosts = [...new Set([own, 'localhost', '127.0.0.1', '[::1]'])]
  const number = typeof port === 'number' ? port : DEFAULTS.listen.port
  return hosts.flatMap(each =>
    ['mcp', 'sse', 'ws'].map(end => `${end === 'ws' ? 'ws' : 'http'}://${each}:${number}${base}/${end}`),
  )
}

/** Returns the changes that switch an entry on or off; empty if none are needed. */
export const toggled = (name: string, entry: ImportedEntry, isDisabled: boolean): readonly FileChange[] => {
  const inner = entry[WRAPPER]
  // Reads them like `config/read/entry.ts`.
  const isInner = isObject(inner) && ('disabled' in inner || 'enabled' in inner)
  const own = (isInner ? inner : entry) as ImportedEntry
  if (isSwitchedOff(key => own[key]) === isDisabled) return []
  const at = isInner ? [name, WRAPPER] : [name]
  if (isDisabled) return [{ at, name: 'disabled', value: true }]
  const off = OFF_IF_FALSE.filter(key => own[key] === false)
  return [...OFF_IF_TRUE, ...off].map(key => ({ at, name: key, value: undefined }))
}

const WRAPPER = 'x-mcp-proxy'

/** Creates our configuration without servers, if it is missing. Rejects with a SetupError. */
export const writeEmptyFile = async (files: Files, { file: { state } }: OwnFile): Promise<void> => {
  if (state.bytes === undefined) await replaceFile(files, state, Buffer.from('{\n  "mcpServers": {}\n}\n'))
}

/**
 * Writes new secrets, then changes whose `at` starts below the map of servers, so that no server lacks its
 * secrets. Keeps changes that another process has made since `own` was read. Resolves with whether anything
 * was written. Rejects with a SetupError, and with a ConflictError if the other changes affect the same
 * servers or secrets.
 */
export const writeOwnFile = async (
  files: Files,
  own: OwnFile,
  changes: readonly FileChange[],
  secrets: ReadonlyMap<string, string> = new Map(),
): Promise<boolean> => {
  const { path } = own.file.state
  return await exclusively(files.disk, path, async () => {
    const { state, edited } = await unchangedFile(files, own, changes)
    const bytes = edited(changes.map(change => ({ ...change, at: [...own.at, ...change.at] })))
    if (secrets.size > 0) await addSecrets(files, own, secrets)
    const isChanged = changes.length > 0 && hashOf(bytes) !== hashOf(state.bytes)
    // A file with secrets is readable by this user only.
    const isPrivate = changes.some(({ value }) => isObject(value) && holdsSecrets(value))
    if (isChanged) await replaceFile(files, isPrivate ? { ...state, mode: 0o600 } : state, bytes)
    return isChanged || secrets.size > 0
  })
}

/** Returns the current file after checking that the servers to change are the same as in `own`. */
const unchangedFile = async (
  files: Files,
  own: OwnFile,
  changes: readonly FileChange[],
): Promise<OpenFile> => {
  const { path } = own.file.state
  const file = await openFile(files, path, 'jsonc')
  if (hashOf(file.state.bytes) === hashOf(own.file.state.bytes)) return own.file
  const root = isObject(file.value) ? file.value : {}
  const before = isObject(own.file.value) ? own.file.value : {}
  if (!isDeepStrictEqual([containerIn(root), root['envFile']], [own.at, before['envFile']]))
    throw new ConflictError(path)
  const servers = new Map(serversOf(root, own.at))
  const old = new Map(serversOf(before, own.at))
  for (const { at, name: last } of changes) {
    const name = at[0] ?? last
    if (!isDeepStrictEqual(servers.get(name), old.get(name)))
      throw new ConflictError(path, `another program has just changed the server "${name}"`)
  }
  return file
}

const addSecrets = async (
  files: Files,
  own: OwnFile,
  secrets: ReadonlyMap<string, string>,
): Promise<void> => {
  const { path } = own.secrets
  await exclusively(files.disk, path, async () => {
    const state = await readState(files.disk, path)
    const before = revisedTextOf(state)
    const there = parseEnvFile(before)
    const missing = [...secrets].filter(([name, value]) => there[name] !== value)
    const taken = missing.find(([name]) => there[name] !== own.variables[name])
    if (taken !== undefined)
      throw new ConflictError(path, `another program has just written the variable ${taken[0]}`)
    const open = before === '' || before.endsWith('\n') ? '' : '\n'
    const lines = missing.map(([name, value]) => envFileLine(name, value)).join('')
    if (lines === '') return
    const after = Buffer.from(before + open + lines)
    if (after.length > SMALL_FILE_BYTES) {
      const why = `it would have ${Math.ceil(after.length / 1024)} KiB with the new secrets, and 64 KiB are read`
      throw new SetupError(path, why, 0, 'keep long secrets in files of their own: "${file:/path}"')
    }
    await replaceFile(files, { ...state, mode: 0o600 }, after)
  })
}
