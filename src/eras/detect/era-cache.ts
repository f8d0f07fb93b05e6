import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { Downlink, DownlinkListener } from '../../model/links.js'
import type { LegacyHttp } from '../legacy/server-side/open.js'

/** A legacy-only server does not announce an upgrade, so it is probed again after this long. */
const LEGACY_MS = 24 * 60 * 60_000

/** Facts about a modern server. */
export interface ModernServer {
  /** Its `DiscoverResult`. */
  readonly discovered: JsonText
  /** Over HTTP: its URL after redirects. */
  readonly url?: string
}

/** The address and transport of a legacy server over HTTP. */
export interface LegacyServer {
  /** Its URL after redirects. */
  readonly url?: string
  readonly via?: LegacyHttp
}

/** The known eras of a server: `false` if it does not support one, undefined if unknown. */
export interface EraVerdict {
  readonly modern?: ModernServer | false
  readonly legacy?: LegacyServer | false
}

/** One attempt to open a connection, with the known facts about the server. */
export interface ConnectionAttempt {
  readonly known: EraVerdict
  readonly listener: DownlinkListener
  /** Records a finding, for other attempts to use. */
  found(what: EraVerdict): void
}

/**
 * The eras of one server, a property of the server rather than of a request (2026-07-28, basic/versioning).
 * Kept while a connection relies on it, and forgotten when one is lost, because a restarted server may be
 * another version.
 */
export class EraCache {
  readonly #clock: Clock
  #verdict: EraVerdict = {}
  #foundMs = 0
  /** Attempts in progress, and open connections. */
  #holders = 0
  #search: Deferred<void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Opens a connection; while another caller is detecting the era, waits for that first. Rejects with a
   * Fault.
   */
  async open(
    { listener, signal }: { readonly listener: DownlinkListener; readonly signal: AbortSignal },
    connect: (attempt: ConnectionAttempt) => Promise<Downlink>,
  ): Promise<Downlink> {
    while (this.#known.modern === undefined && this.#search !== undefined)
      await within(this.#search.promise, { clock: this.#clock, ms: Number.POSITIVE_INFINITY, signal })
    const known = this.#known
    const search = known.modern === undefined ? new Deferred<void>() : undefined
    this.#search ??= search
    this.#holders += 1
    const leave = this.#leaver(search)
    try {
      return await connect({
        known,
        listener: {
          requested: ask => listener.requested(ask),
          notified: (method, params, about) => listener.notified(method, params, about),
          closed: fault => {
            leave(!signal.aborted)
            listener.closed(fault)
          },
        },
        found: what => {
          this.#remember(what)
          this.#settle(search)
        },
      })
    } catch (thrown) {
      leave(true)
      throw thrown
    }
  }

  get #known(): EraVerdict {
    const isOld = this.#verdict.modern === false && this.#clock.nowMs() - this.#foundMs >= LEGACY_MS
    return isOld ? {} : this.#verdict
  }

  #remember(what: EraVerdict): void {
    if (what.modern !== undefined) this.#foundMs = this.#clock.nowMs()
    this.#verdict = { ...this.#verdict, ...what }
  }

  #leaver(search: Deferred<void> | undefined): (isLost: boolean) => void {
    let isOver = false
    return isLost => {
      if (isOver) return
      isOver = true
      this.#holders -= 1
      if (isLost || this.#holders === 0) this.#verdict = {}
      this.#settle(search)
    }
  }

  #settle(search: Deferred<void> | undefined): void {
    search?.resolve()
    if (search === this.#search) this.#search = undefined
  }
}
