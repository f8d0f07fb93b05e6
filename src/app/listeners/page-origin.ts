import { isLoopbackHost } from '../../machine/loopback.js'
import type { PagePort, PagePortContext } from './page-port.js'

/** Where the page of a proxy is, which may listen on no port of this machine. */
export class PageOrigin {
  readonly #context: PagePortContext
  readonly #add: (port: PagePort) => PagePort
  #port: Promise<PagePort> | undefined

  /** `add` keeps a port that was opened, and closes it with the proxy. */
  constructor(context: PagePortContext, add: (port: PagePort) => PagePort) {
    this.#context = context
    this.#add = add
  }

  /** That of an own port on loopback, or of one that is opened for the page. Rejects with a Fault. */
  async find(own: string | undefined): Promise<string> {
    if (own !== undefined && isLoopbackHost(new URL(own).hostname)) return new URL(own).origin
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
