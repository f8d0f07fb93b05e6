import type { ServerConfig } from '../config/types.js'
import {
  EraMemory,
  openLegacySse,
  openServerHttp,
  openServerPipe,
  type ServerLinkOptions,
} from '../eras/index.js'
import type { Clock } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import { textOf } from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import type { Downlink } from '../model/links.js'
import { isLegacyRevision, type LegacyRevision, NEWEST_LEGACY } from '../model/revision.js'
import type { Dial } from '../peers/dial.js'
import { childEnv } from '../transport/child-env.js'
import { spawnChild } from '../transport/stdio-child.js'
import type { HttpClient } from '../wire/http.js'
import type { Children } from './children.js'
import { IDENTITY } from './identity.js'

/** To reach a server that runs elsewhere; its handshake has the server's own limit. */
const CONNECT_MS = 10_000

/** A server that is silent for so long, and owes nothing, is asked for a sign of life. */
const PING_MS = 30_000

/** Opens connections to configured servers, and owns what all of them share. */
export interface Dialer {
  readonly dial: Dial
  close(): Promise<void>
}

/** Starts or reaches servers by their configuration; one HTTP client serves them all. */
export const createDialer = (
  servers: readonly ServerConfig[],
  around: { readonly clock: Clock; readonly log: Logger; readonly children: Children },
): Dialer => {
  const byName = new Map(
    servers.map(server => [server.name, { server, memory: new EraMemory(around.clock), nextId: counter() }]),
  )
  const shared = new Shared(around.children)
  const identity = textOf(IDENTITY)
  return {
    dial: (name, greeting, listener, signal) => {
      const known = byName.get(name)
      if (known === undefined) return Promise.reject(new Fault('unavailable', 'it is not configured'))
      const { server, memory, nextId } = known
      const options = {
        server: name,
        listener,
        signal,
        capabilities: greeting.capabilities,
        clientInfo: greeting.clientInfo ?? identity,
        identity,
        era: server.era,
        offer: offerOf(server),
        probeMs: server.timeouts.probeMs,
        memory,
        nextId,
        timeoutMs: server.timeouts.connectMs,
        pingMs: PING_MS,
        clock: around.clock,
        log: around.log.child({ server: name }),
      }
      return open(server, shared, options)
    },
    close: () => shared.close(),
  }
}

/** Counts from 1. */
const counter = (): (() => number) => {
  let last = 0
  return () => {
    last += 1
    return last
  }
}

/** What `initialize` offers. */
const offerOf = ({ protocolVersion }: ServerConfig): LegacyRevision =>
  protocolVersion !== undefined && isLegacyRevision(protocolVersion) ? protocolVersion : NEWEST_LEGACY

const open = async (server: ServerConfig, shared: Shared, options: ServerLinkOptions): Promise<Downlink> => {
  const { transport } = server
  const connectTimeoutMs = Math.min(CONNECT_MS, options.timeoutMs)
  switch (transport.kind) {
    case 'stdio': {
      const { unsetEnv } = transport
      const inherited = Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !unsetEnv.includes(name)),
      )
      const start = () =>
        spawnChild({
          command: transport.command,
          args: transport.args,
          cwd: transport.cwd,
          env: { ...childEnv(inherited, transport.env), ...shared.children.env },
          log: options.log,
          clock: options.clock,
          guard: shared.children.guardOf(options.server),
        })
      return openServerPipe(() => Promise.resolve(start()), options)
    }
    case 'http':
      return openServerHttp(await shared.http(), transport, { ...options, hasSse: false })
    case 'sse':
      return openLegacySse(await shared.http(), transport, options)
    case 'auto':
      return openServerHttp(await shared.http(), transport, { ...options, hasSse: true })
    case 'ws': {
      const { connectWs } = await import('../transport/ws-client.js')
      return openServerPipe(() => connectWs({ ...transport, ...options, connectTimeoutMs }), options)
    }
    case 'socket': {
      const { connectSocket } = await import('../transport/socket-client.js')
      return openServerPipe(() => connectSocket({ ...transport, ...options, connectTimeoutMs }), options)
    }
  }
}

/** What all connections have in common. */
class Shared {
  readonly children: Children
  #http: Promise<HttpClient> | undefined

  constructor(children: Children) {
    this.children = children
  }

  /** Loaded with the first remote server: a proxy of children starts faster without. */
  http(): Promise<HttpClient> {
    this.#http ??= import('../transport/http-client.js').then(({ createHttpClient }) => createHttpClient())
    return this.#http
  }

  async close(): Promise<void> {
    this.children.close()
    await (await this.#http)?.close()
  }
}
