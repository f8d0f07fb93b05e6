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

/** All lists of a server are read at about the same time, and written once; after clients are given them. */
const SETTLE_MS = 1000

/** Is told what is known of a server, encoded. */
type Tell = (server: ServerOptions, print: string, bytes: Buffer) => void

export interface ServerCacheContext {
  /** Undefined to keep nothing. */
  readonly stateDir: string | undefined
  /** Writes without reading. */
  readonly isFirstStart?: boolean | undefined
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly clock: Clock
  readonly log: Logger
}

interface Entry {
  print: string
  /** The same for processes with other files. */
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

/** Keeps what servers declared and listed when they last ran: a file for each, named by its fingerprint. */
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

  /** Has `tell` called whenever a list of a server was read. */
  share(tell: Tell): void {
    this.#tell = tell
  }

  /** What tells a server from others, whichever process has it; undefined once it has left. */
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
        'the lists of this server are too long to be cached',
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

/** Undefined where nothing is kept, and nobody else is told. */
export const serverCacheFiles = (
  { knownServers, cluster }: Pick<ProxyConfig, 'knownServers' | 'cluster'>,
  { stateDir, ...context }: ServerCacheContext,
): ServerCacheFiles | undefined => {
  const isKept = stateDir !== undefined && knownServers
  if (!isKept && cluster === undefined) return undefined
  return new ServerCacheFiles({ stateDir: isKept ? stateDir : undefined, ...context })
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64')

/** Changes with what goes into a fingerprint, or into a file. */
const FORMAT = 1

/** A hash of what tells servers apart: transport, credentials, revision, program files, and owner. */
export const fingerprint = ({ transport, era, protocolVersion }: ServerConfig, owner?: Principal): string => {
  const parts = [FORMAT, transport.kind, era, protocolVersion ?? null, ...partsOf(transport)]
  if (owner !== undefined) parts.push({ owner })
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

const partsOf = (transport: ServerTransport): readonly unknown[] => {
  switch (transport.kind) {
    case 'stdio': {
      const { command, args, cwd = process.cwd(), env, unsetEnv } = transport
      return [
        command,
        args,
        cwd,
        sorted(env),
        unsetEnv.toSorted(),
        [command, ...args].map(one => stamp(cwd, one)),
      ]
    }
    case 'socket':
      return [transport.path]
    case 'auto':
    case 'http':
    case 'sse':
    case 'ws':
      return [transport.url, sorted(transport.headers)]
  }
}

const sorted = (values: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1))

/** Tells versions of a program apart; a folder has no version. */
const stamp = (cwd: string, word: string): readonly number[] | null => {
  try {
    const stat = statSync(resolve(cwd, word), { throwIfNoEntry: false })
    return stat?.isFile() === true ? [stat.size, stat.mtimeMs] : null
  } catch {
    return null
  }
}
