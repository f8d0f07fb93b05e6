import type { JsonText } from '../../kernel/json/text.js'
import type { ListName } from '../../model/listing.js'
import type { ServerFacts } from '../../model/peer.js'
import type { ServerOptions } from '../../peers/options.js'

/** What a server said when it last ran: about itself, and its lists as it sent them, as far as they could be read. */
export interface Said {
  readonly facts: ServerFacts
  readonly lists: Partial<Readonly<Record<ListName, readonly JsonText[]>>>
}

/** That, for each profile of its clients (`profileOf`). */
export type Known = ReadonlyMap<string, Said>

/**
 * PORT. What outlives this process: with it a server is known before it runs. Implemented by `app/known-servers`. Nothing here
 * rejects or throws, and nothing waits for a disk but `recall`.
 */
export interface KnownServers {
  /** What is remembered of a server that is configured, and installed, exactly as it was then; undefined if nothing is. */
  recall(server: ServerOptions): Known | undefined
  /** A server runs as it is configured and installed at the moment: what is learnt from here on is about that. */
  met(server: ServerOptions): void
  /** A server's list was read. `known` is asked for when it is written down, which may be a moment later. */
  learnt(server: ServerOptions, known: () => Known): void
}
