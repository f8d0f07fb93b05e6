import { randomBytes } from 'node:crypto'
import { servePipe } from '../../eras/index.js'
import { systemClock } from '../../kernel/async/clock.js'
import { LOCAL } from '../../kernel/caller.js'
import { textOf } from '../../kernel/json/text.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { ENDED_METHOD, type Hello, isOwnProgram } from '../../shim/hello.js'
import type { Channel } from '../../wire/channel.js'
import { encodeNotification } from '../../wire/jsonrpc.js'
import type { ChannelContext } from '../channels.js'
import { firstWorkspace } from '../workspace.js'

/** A client behind `mcp-proxy connect`, as it describes itself. */
export interface SessionStatus {
  readonly id: string
  readonly client: string | undefined
  readonly view: string | undefined
  readonly workspace: string | undefined
  /** The process of `mcp-proxy connect`, which may have another version. */
  readonly pid: number
  readonly version: string
  readonly ageMs: number
  /** Requests in flight. */
  readonly calls: number
}

interface LocalSession {
  readonly hello: Hello
  readonly sinceMs: number
  readonly channel: Channel
  readonly listener: ReturnType<typeof servePipe>
}

/** The clients on the private socket. */
export class LocalSessions {
  readonly #context: ChannelContext
  readonly #refusal: string
  readonly #open = new Map<string, LocalSession>()
  /** Channels whose client's folder is being looked up. */
  readonly #opening = new Set<Channel>()
  #last = 0

  /** `refusal`: see `Welcome.refusal`. */
  constructor(context: ChannelContext, refusal: string) {
    this.#context = context
    this.#refusal = refusal
  }

  get size(): number {
    return this.#open.size + this.#opening.size
  }

  get all(): readonly SessionStatus[] {
    const nowMs = systemClock.nowMs()
    return [...this.#open].map(([id, { hello, sinceMs, listener }]) => ({
      id,
      client: hello.client,
      view: hello.view,
      workspace: listener.workspace ?? hello.workspace,
      pid: hello.pid,
      version: hello.version,
      ageMs: Math.round(nowMs - sinceMs),
      calls: listener.openCalls,
    }))
  }

  newId(): string {
    this.#last += 1
    return `k${this.#last.toString(36)}`
  }

  /** Resolves when the session is open. Never rejects. */
  async serve(id: string, channel: Channel, hello: Hello): Promise<void> {
    this.#opening.add(channel)
    const [workspace, cwd] = await Promise.all([
      firstWorkspace(hello.workspace, hello.project),
      firstWorkspace(hello.cwd),
    ])
    // `close` has removed it.
    if (!this.#opening.delete(channel)) return
    const listener = servePipe(
      channel,
      { ...LOCAL, workspace, cwd, view: hello.view },
      {
        ...this.#context,
        identity: IDENTITY,
        // Our own commands see every tool.
        via: isOwnProgram(hello) ? undefined : 'socket',
        // The client may still hold a request of the previous daemon.
        idPrefix: `${randomBytes(3).toString('base64url')}-`,
      },
    )
    this.#open.set(id, {
      hello: { ...hello, workspace: workspace ?? cwd },
      sinceMs: systemClock.nowMs(),
      channel,
      listener,
    })
    void listener.gone.then(() => this.#open.delete(id))
  }

  /** Ends all sessions after the last call. The next daemon repeats unanswered requests. */
  async close(): Promise<void> {
    const opening = [...this.#opening]
    this.#opening.clear()
    const ended = encodeNotification(ENDED_METHOD, textOf({ refusal: this.#refusal }))
    await Promise.all([
      ...opening.map(channel => channel.close()),
      ...[...this.#open.values()].map(({ channel, listener }) => {
        listener.flush()
        if (listener.openCalls === 0) channel.send(ended)
        return channel.close()
      }),
    ])
  }
}
