import type { ProxyConfig, ServerConfig } from '../config/types.js'
import type { Clock } from '../kernel/async/clock.js'
import { Fault, type FaultCode } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import { isObject, objectIn } from '../kernel/object.js'
import { loginReasonOf } from '../model/login.js'
import type { ServerOptions } from '../peers/dial.js'
import type { FailureMemory, Unreached } from '../peers/server.js'
import { removePrivate } from './private-file.js'
import { fingerprint } from './server-cache.js'
import { cacheFile, cacheFolder, readCacheFile, writeCacheFile } from './server-cache-file.js'

/** Undefined where nothing is kept. */
export const serverFailures = (
  { knownServers }: Pick<ProxyConfig, 'knownServers'>,
  {
    stateDir,
    ...context
  }: Omit<ServerFailuresContext, 'stateDir'> & { readonly stateDir: string | undefined },
): ServerFailures | undefined =>
  stateDir !== undefined && knownServers ? new ServerFailures({ stateDir, ...context }) : undefined

/** The format of a file; files of other formats are ignored. */
const FORMAT = 1

interface ServerFailuresContext {
  readonly stateDir: string
  /** Writes without reading. */
  readonly isFirstStart?: boolean | undefined
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  /** Time of the last stored login, in milliseconds since 1970; 0 without one. */
  readonly lastLoginMs: () => number
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Keeps in the folder of cached lists why servers could not be reached, until they are reached. A failure is
 * ignored once the server's entry or program file has changed, or after a new login if it lacked one.
 */
export class ServerFailures implements FailureMemory {
  readonly #context: ServerFailuresContext
  readonly #folder: string
  /** The file of each server that has one. */
  readonly #prints = new WeakMap<ServerOptions, string>()
  #writing: Promise<void> = Promise.resolve()

  constructor(context: ServerFailuresContext) {
    this.#context = context
    this.#folder = cacheFolder(context.stateDir)
  }

  lastOf(server: ServerOptions): Unreached | undefined {
    const { isFirstStart, lastLoginMs, clock } = this.#context
    const print = this.#printOf(server)
    if (print === undefined) return undefined
    const found = decode(readCacheFile(this.#folder, print))
    if (found === undefined) return undefined
    this.#prints.set(server, print)
    const { why, failures, wallMs } = found
    if (isFirstStart === true || (loginReasonOf(why) !== undefined && lastLoginMs() > wallMs))
      return undefined
    return { why, failures, atMs: clock.nowMs() - Math.max(0, Date.now() - wallMs) }
  }

  keep(server: ServerOptions, unreached: Unreached | undefined): void {
    const former = this.#prints.get(server)
    const print = unreached && this.#printOf(server)
    if (former !== undefined && former !== print)
      this.#do(() => removePrivate(cacheFile(this.#folder, former)))
    if (print === undefined || unreached === undefined) {
      this.#prints.delete(server)
      return
    }
    this.#prints.set(server, print)
    const wallMs = Date.now() - (this.#context.clock.nowMs() - unreached.atMs)
    this.#do(() => writeCacheFile(this.#folder, print, encode(unreached, wallMs)))
  }

  async close(): Promise<void> {
    await this.#writing
  }

  #printOf(server: ServerOptions): string | undefined {
    const config = this.#context.configOf(server)
    return config && `${fingerprint(config, server.owned?.owner)}.failure`
  }

  #do(work: () => Promise<void>): void {
    const { log } = this.#context
    this.#writing = this.#writing.then(work).catch((thrown: unknown) => {
      log.debug({ err: thrown }, 'cannot keep the failure of a server')
    })
  }
}

interface Kept {
  readonly why: Fault
  readonly failures: number
  readonly wallMs: number
}

const encode = ({ why, failures }: Unreached, wallMs: number): Buffer => {
  const { code, message, stderrTail: stderr } = why
  const { doctor, reason } = why.data ?? {}
  return Buffer.from(
    JSON.stringify({ format: FORMAT, wallMs, failures, code, message, data: { doctor, reason }, stderr }),
  )
}

const decode = (bytes: Buffer | undefined): Kept | undefined => {
  const kept = bytes && objectIn(bytes.toString())
  if (kept?.['format'] !== FORMAT) return undefined
  const { wallMs, failures, code, message, data, stderr } = kept
  if (typeof wallMs !== 'number' || typeof failures !== 'number' || typeof message !== 'string')
    return undefined
  const why = new Fault(code as FaultCode, message, {
    data: isObject(data) ? data : {},
    stderrTail: Array.isArray(stderr) ? stderr.map(String) : undefined,
  })
  return { why, failures, wallMs }
}
