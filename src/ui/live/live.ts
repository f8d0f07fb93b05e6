import { followEvents, isGone, logInToPage, messageOf } from './api.js'
import { afterEvent, type Link, NOTHING, type PageState } from './state.js'

const FIRST_RETRY_MS = 1000
const LAST_RETRY_MS = 15_000

/**
 * Returns the delay after failed attempts, less a random part up to a fifth, which spreads reconnects of
 * pages. @internal
 */
export const retryMs = (attempts: number, random: number): number =>
  Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempts) * (1 - random / 5)

/** Keeps the page up to date with one event stream for the current view. */
export class Live {
  state: PageState = NOTHING
  onChange: (() => void) | undefined
  #views = ''
  #stream: AbortController | undefined
  #attempts = 0
  #retry: ReturnType<typeof setTimeout> | undefined
  #isPainting = false

  /** Exchanges a code of `mcp-proxy ui` for the credential of this tab, and connects. */
  async begin(code: string | undefined, views: string): Promise<void> {
    this.#views = views
    // A hidden page needs no updates.
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#sleep() : this.connect()))
    setInterval(() => this.#set({}), 1000)
    try {
      if (code !== undefined) await logInToPage(code)
    } catch (thrown) {
      this.#set({ link: { is: 'signed-out', why: messageOf(thrown) } })
      return
    }
    this.connect()
  }

  /** Switches to other parts of the state. */
  show(views: string): void {
    if (views === this.#views) return
    this.#views = views
    // Also before the first event: a stream being opened is for the previous parts.
    const { is } = this.state.link
    if (this.#stream !== undefined && (is === 'live' || is === 'connecting')) this.connect()
  }

  /** Opens a stream, replacing an open one. */
  connect(): void {
    clearTimeout(this.#retry)
    this.#stream?.abort()
    const stream = new AbortController()
    this.#stream = stream
    this.#read(stream.signal).catch((thrown: unknown) => {
      if (stream.signal.aborted) return
      if (isGone(thrown)) this.#set({ link: { is: 'signed-out', why: '' } })
      else this.#lost(messageOf(thrown))
    })
  }

  async #read(signal: AbortSignal): Promise<void> {
    const seen = new Set<string>()
    const onEvent = ({ event, data }: { readonly event: string; readonly data: string }): void => {
      const told = { event, value: JSON.parse(data) as unknown, isFirst: !seen.has(event) }
      seen.add(event)
      this.#attempts = 0
      this.#set({ ...afterEvent({ ...this.state, now: Date.now() }, told), link: { is: 'live' } })
    }
    await followEvents(`events?view=${this.#views}`, onEvent, { signal })
    if (!signal.aborted) this.#lost('the proxy has stopped')
  }

  #lost(why: string): void {
    const waitMs = retryMs(this.#attempts, Math.random())
    this.#attempts += 1
    this.#retry = setTimeout(() => this.connect(), waitMs)
    this.#set({ link: { is: 'lost', why, retryAt: Date.now() + waitMs } })
  }

  #sleep(): void {
    clearTimeout(this.#retry)
    this.#stream?.abort()
    if (this.state.link.is === 'live') this.#set({ link: { is: 'asleep' } })
  }

  #set(change: Partial<PageState> & { readonly link?: Link }): void {
    this.state = { ...this.state, ...change, now: Date.now() }
    if (this.#isPainting) return
    // Draws events that arrive together once.
    this.#isPainting = true
    queueMicrotask(() => {
      this.#isPainting = false
      this.onChange?.()
    })
  }
}
