import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { CachedServer, ServerCache } from '../catalog/lists/profile-cache.js'
import { anywhere } from '../config/digest.js'
import type { ProxyConfig, ServerConfig, ServerTransport } from '../config/types.js'
import type { Clock, Timer } from '../kernel/async/clock.js'
import type { Principal } from '../kernel/caller.js'
import type { Logger } from '../kernel/logger.js'
import type { ServerOptions } from '../peers/dial.js'
import {
  CACHE_FILE_BYTES,
  cacheFolder,
  decodeServer,
  encodeServer,
  readCacheFile,
  touchCacheFile,
  writeCacheFile,
} from './server-cache-file.js'

/** Servers are asked for all lists at about the same time: one write after clients have their answers. */
const SETTLE_MS = 1000

/** Receives the encoded lists of a server. */
type Tell = (server: ServerOptions, print: string, bytes: Buffer) => void

export interface ServerCacheContext {
  /** Undefined to store nothing. */
  readonly stateDir: string | undefined
  /** True to write without reading. */
  readonly isFirstStart?: boolean | undefined
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly clock: Clock
  readonly log: Logger
}

interface Entry {
  print: string
  /** The fingerprint that replicas share, which excludes local files. */
  readonly shared: string
  written: string | undefined
  isTouched: boolean
}

/** A write that waits for further lists. */
interface Due {
  readonly timer: Timer
  readonly entry: Entry
  readonly known: () => CachedServer
}

/** Stores the capabilities and lists of servers, one file each, named by fingerprint. */
export class ServerCacheFiles implements ServerCache {
  readonly #context: ServerCacheContext
  readonly #folder: string | undefined
  readonly #entries = new WeakMap<ServerOptions, Entry>()
  readonly #due = new Map<ServerOptions, Due>()
  #writing: Promise<void> = Promise.resolve()
  #isFailing = false
  #tell: Tell | undefined

  constructor(context: ServerCacheContext) {
    this.#context = context
    this.#folder = context.stateDir === undefined ? undefined : cacheFolder(context.stateDir)
  }

  load(server: ServerOptions): CachedServer | undefined {
    const entry = this.#entry(server)
    const { isFirstStart } = this.#context
    if (entry === undefined || this.#folder === undefined || isFirstStart === true) return undefined
    const bytes = readCacheFile(this.#folder, entry.print)
    const known = bytes && decodeServer(bytes)
    if (bytes !== undefined && known !== undefined) entry.written = hashOf(bytes)
    return known
  }

  reached(server: ServerOptions): void {
    const config = this.#context.configOf(server)
    const entry = this.#entry(server)
    const print = config && fingerprint(config, server.owned?.owner)
    if (entry === undefined || print === undefined || print === entry.print) return
    entry.print = print
    entry.written = undefined
    entry.isTouched = false
  }

  update(server: ServerOptions, known: () => CachedServer): void {
    const entry = this.#entry(server)
    if (entry === undefined) return
    this.#due.get(server)?.timer.cancel()
    const timer = this.#context.clock.after(SETTLE_MS, () => this.#write(server))
    this.#due.set(server, { timer, entry, known })
  }

  /** Calls `tell` whenever a list of a server was read. */
  share(tell: Tell): void {
    this.#tell = tell
  }

  /** Returns the shared fingerprint of a server. Undefined once it was removed. */
  printOf(server: ServerOptions): string | undefined {
    return this.#entry(server)?.shared
  }

  async close(): Promise<void> {
    for (const server of [...this.#due.keys()]) this.#write(server)
    await this.#writing
  }

  #entry(server: ServerOptions): Entry | undefined {
    const found = this.#entries.get(server)
    const config = found === undefined ? this.#context.configOf(server) : undefined
    if (config === undefined) return found
    const entry: Entry = {
      print: fingerprint(config, server.owned?.owner),
      shared: fingerprint(anywhere(config), server.owned?.owner),
      written: undefined,
      isTouched: false,
    }
    this.#entries.set(server, entry)
    return entry
  }

  #write(server: ServerOptions): void {
    const due = this.#due.get(server)
    due?.timer.cancel()
    this.#due.delete(server)
    if (due === undefined) return
    const bytes = encodeServer(due.known())
    if (bytes.length > CACHE_FILE_BYTES) {
      this.#context.log.info(
        { server: server.name, bytes: bytes.length },
        'the lists of this server are too large to cache',
      )
      return
    }
    this.#tell?.(server, due.entry.shared, bytes)
    this.#writing = this.#writing.then(() => this.#put(due.entry, bytes))
  }

  async #put(entry: Entry, bytes: Buffer): Promise<void> {
    const folder = this.#folder
    if (folder === undefined) return
    const hash = hashOf(bytes)
    try {
      if (entry.written !== hash) await writeCacheFile(folder, entry.print, bytes)
      else if (!entry.isTouched) await touchCacheFile(folder, entry.print)
      entry.written = hash
      entry.isTouched = true
    } catch (thrown) {
      entry.written = undefined
      if (!this.#isFailing) this.#context.log.warn({ err: thrown }, 'cannot cache the lists of servers')
      this.#isFailing = true
    }
  }
}

/** Returns undefined if lists are neither stored nor shared. */
export const serverCacheFiles = (
  { knownServers, cluster }: Pick<ProxyConfig, 'knownServers' | 'cluster'>,
  { stateDir, ...context }: ServerCacheContext,
): ServerCacheFiles | undefined => {
  const isKept = stateDir !== undefined && knownServers
  if (!isKept && cluster === undefined) return undefined
  return new ServerCacheFiles({ stateDir: isKept ? stateDir : undefined, ...context })
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64')

/** Increment when the input of a fingerprint or the file format changes. */
const FORMAT = 1

/**
 * Returns a hash of the properties that distinguish servers: transport, credentials, revision, program files,
 * and owner.
 */
export const fingerprint = ({ transport, era, protocolVersion }: ServerConfig, owner?: Principal): string => {
  const parts = [FORMAT, transport.kind, era, protocolVersion ?? null, ...partsOf(transport)]
  if (owner !== undefined) parts.push({ owner })
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

const partsOf = (transport: ServerTransport): readonly unknown[] => {
  switch (transport.kind) {
    case 'stdio': {
      const { command, args, cwd = process.cwd(), env, unsetEnv, inheritEnv } = transport
      return [
        command,
        args,
        cwd,
        sorted(env),
        unsetEnv.toSorted(),
        ...(inheritEnv === true ? ['inheritEnv'] : []),
        [command, ...args].map(one => stamp(cwd, one)),
      ]
    }
    case 'socket':
      return [transport.path]
    case 'auto':
    case 'http':
    case 'sse':
    case 'ws':
      return [
        transport.url,
        sorted(transport.headers),
        ...(transport.socketPath === undefined ? [] : [transport.socketPath]),
      ]
  }
}

const sorted = (values: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1))

/** Identifies the version of a program file. Folders have none. */
const stamp = (cwd: string, word: string): readonly number[] | null => {
  try {
    const stat = statSync(resolve(cwd, word), { throwIfNoEntry: false })
    return stat?.isFile() === true ? [stat.size, stat.mtimeMs] : null
  } catch {
    return null
  }
}
