import { isLoopbackHost } from '../../kernel/loopback.js'
import type { PagePort, PagePortContext } from './page-port.js'

/** Finds the origin of the page, for which a proxy without a local port opens one. */
export class PageOrigin {
  readonly #context: PagePortContext
  readonly #add: (port: PagePort) => PagePort
  #port: Promise<PagePort> | undefined

  /** `add` keeps an opened port and closes it with the proxy. */
  constructor(context: PagePortContext, add: (port: PagePort) => PagePort) {
    this.#context = context
    this.#add = add
  }

  /**
   * Returns the base address of the proxy's loopback port, or of a port opened for the page. Rejects with a
   * Fault.
   */
  async find(own: string | undefined): Promise<string> {
    if (own !== undefined && isLoopbackHost(new URL(own).hostname)) return own.replace(/\/mcp$/, '')
    this.#port ??= this.#open()
    try {
      return (await this.#port).origin
    } catch (thrown) {
      this.#port = undefined
      throw thrown
    }
  }

  async #open(): Promise<PagePort> {
    const { openPagePort } = await import('./page-port.js')
    return this.#add(await openPagePort(this.#context))
  }
}
