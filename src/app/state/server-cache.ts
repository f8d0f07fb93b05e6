import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Known, KnownServers } from '../../catalog/lists/remembered.js'
import type { ServerConfig, ServerTransport } from '../../config/types.js'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import type { ServerOptions } from '../../peers/options.js'
import {
  decodeKnown,
  encodeKnown,
  KNOWN_BYTES,
  knownFolder,
  readKnown,
  touchKnown,
  writeKnown,
} from './server-cache-file.js'

/** All lists of a server are read at about the same time, and are written once. */
const SETTLE_MS = 250

/** What remembering needs. */
export interface KnownServersContext {
  readonly stateDir: string
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** One server as it is remembered. */
interface Note {
  print: string
  /** A hash of what stands in its file, as far as we know. */
  written: string | undefined
  isTouched: boolean
}

/** What is to be written soon. */
interface Due {
  readonly timer: Timer
  readonly note: Note
  readonly known: () => Known
}

/** What the servers of this user said when they last ran: one file each, by its fingerprint. */
export class ServerCacheFiles implements KnownServers {
  readonly #context: KnownServersContext
  readonly #folder: string
  readonly #notes = new WeakMap<ServerOptions, Note>()
  readonly #due = new Map<ServerOptions, Due>()
  /** One file is written at a time. */
  #writing: Promise<void> = Promise.resolve()
  #isFailing = false

  constructor(context: KnownServersContext) {
    this.#context = context
    this.#folder = knownFolder(context.stateDir)
  }

  recall(server: ServerOptions): Known | undefined {
    const note = this.#note(server)
    const bytes = note && readKnown(this.#folder, note.print)
    const known = bytes && decodeKnown(bytes)
    if (note !== undefined && bytes !== undefined && known !== undefined) note.written = hashOf(bytes)
    return known
  }

  met(server: ServerOptions): void {
    const config = this.#context.configOf(server)
    const note = this.#note(server)
    const print = config && fingerprint(config)
    if (note === undefined || print === undefined || print === note.print) return
    note.print = print
    note.written = undefined
    note.isTouched = false
  }

  learnt(server: ServerOptions, known: () => Known): void {
    const note = this.#note(server)
    if (note === undefined) return
    this.#due.get(server)?.timer.cancel()
    const timer = this.#context.clock.after(SETTLE_MS, () => this.#write(server))
    this.#due.set(server, { timer, note, known })
  }

  /** Writes what is still to be written. Never rejects. */
  async close(): Promise<void> {
    for (const server of [...this.#due.keys()]) this.#write(server)
    await this.#writing
  }

  #note(server: ServerOptions): Note | undefined {
    const found = this.#notes.get(server)
    const config = found === undefined ? this.#context.configOf(server) : undefined
    if (config === undefined) return found
    const note: Note = { print: fingerprint(config), written: undefined, isTouched: false }
    this.#notes.set(server, note)
    return note
  }

  #write(server: ServerOptions): void {
    const due = this.#due.get(server)
    due?.timer.cancel()
    this.#due.delete(server)
    if (due === undefined) return
    const bytes = encodeKnown(due.known())
    if (bytes.length > KNOWN_BYTES) {
      this.#context.log.info({ server: server.name, bytes: bytes.length }, 'lists too much to be remembered')
      return
    }
    this.#writing = this.#writing.then(() => this.#put(due.note, bytes))
  }

  async #put(note: Note, bytes: Buffer): Promise<void> {
    const hash = hashOf(bytes)
    try {
      if (note.written !== hash) await writeKnown(this.#folder, note.print, bytes)
      else if (!note.isTouched) await touchKnown(this.#folder, note.print)
      note.written = hash
      note.isTouched = true
    } catch (thrown) {
      note.written = undefined
      if (!this.#isFailing) this.#context.log.warn({ err: thrown }, 'what servers list cannot be remembered')
      this.#isFailing = true
    }
  }
}

const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64')

/** Grows with what goes into a fingerprint, or into a file. */
const FORMAT = 1

/**
 * What decides which server this is, as a name for a file: how it is reached or started, with which credentials, what it is
 * asked to speak, and the size and time of each program file that its command line names. Nothing can be read back from it.
 */
export const fingerprint = ({ transport, era, protocolVersion }: ServerConfig): string => {
  const parts = [FORMAT, transport.kind, era, protocolVersion ?? null, ...partsOf(transport)]
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

/** Another version of a program is another server. A folder is none, whatever is put into it. */
const stamp = (cwd: string, word: string): readonly number[] | null => {
  try {
    const stat = statSync(resolve(cwd, word), { throwIfNoEntry: false })
    return stat?.isFile() === true ? [stat.size, stat.mtimeMs] : null
  } catch {
    return null
  }
}
