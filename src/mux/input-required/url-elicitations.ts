import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import {
  at,
  EMPTY_ARRAY,
  elementsOf,
  type JsonText,
  memberOf,
  objectText,
  stringOf,
  textMember,
  textOf,
} from '../../kernel/json/text.js'
import type { Client } from '../../model/links.js'
import { errorCode } from '../../model/rpc-error.js'
import type { Connection } from '../../peers/connection.js'

/** Maximum number of remembered elicitations; the oldest is dropped. */
const ELICITATIONS_MAX = 1000
/** Elicitations with longer ids are not awaited. */
const ID_CHARS = 1024

interface Elicitation {
  readonly client: Client
  readonly completion: Deferred<void>
}

/** Tracks URL elicitations of 2025-11-25 servers, which report their completion (client/elicitation). */
export class UrlElicitations {
  readonly #clock: Clock
  readonly #elicitations = new Map<string, Elicitation>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Remembers the client that received a page. */
  shown(connection: Connection, client: Client, id: string): void {
    if (id.length > ID_CHARS) return
    if (this.#elicitations.size >= ELICITATIONS_MAX) {
      const [oldest] = this.#elicitations.keys()
      if (oldest !== undefined) this.#elicitations.delete(oldest)
    }
    this.#elicitations.set(keyOf(connection, id), { client, completion: new Deferred() })
  }

  /** Notifies exactly the client that received the page that its visit is complete. */
  complete(connection: Connection, params: JsonText | undefined): void {
    const id = params && textMember(params, 'elicitationId')
    if (id === undefined) return
    const key = keyOf(connection, id)
    const elicitation = this.#elicitations.get(key)
    if (elicitation?.client.serverRequests === 'returned') {
      elicitation.completion.resolve()
      return
    }
    this.#elicitations.delete(key)
    if (elicitation?.client.capabilities.elicitation?.url === true)
      elicitation.client.notify('notifications/elicitation/complete', params)
  }

  /** Resolves when all of these are complete, or after `limitMs`; unknown ones are not awaited. */
  async completed(connection: Connection, ids: readonly string[], limitMs: number): Promise<void> {
    const keys = ids.map(id => keyOf(connection, id))
    const completions = keys.flatMap(key => this.#elicitations.get(key)?.completion.promise ?? [])
    await within(Promise.all(completions), { clock: this.#clock, ms: limitMs })
    for (const key of keys) this.#elicitations.delete(key)
  }

  forget(client: Client): void {
    for (const [key, elicitation] of this.#elicitations)
      if (elicitation.client === client) this.#elicitations.delete(key)
  }
}

const keyOf = (connection: Connection, id: string): string =>
  `${connection.server.name}\0${connection.share.key}\0${id}`

/** Only 2025-11-25 has it (schema, `URL_ELICITATION_REQUIRED`). */
export const URL_ELICITATION_REQUIRED = -32042

export interface UrlElicitation {
  readonly id: string | undefined
  readonly message: string
  readonly url: string
  /** Params of the equivalent `elicitation/create` in later revisions. */
  readonly params: JsonText
}

/**
 * Returns the pages of a URLElicitationRequiredError (2025-11-25, client/elicitation); empty for other
 * errors.
 */
export const urlElicitationsOf = (error: JsonText): UrlElicitation[] => {
  if (errorCode(error) !== URL_ELICITATION_REQUIRED) return []
  const pages: UrlElicitation[] = []
  for (const one of elementsOf(at(error, 'data', 'elicitations') ?? EMPTY_ARRAY)) {
    const page = pageOf(one)
    if (page !== undefined) pages.push(page)
    if (pages.length === PAGES_MAX) break
  }
  return pages
}

const PAGES_MAX = 100

const pageOf = (one: JsonText): UrlElicitation | undefined => {
  const [text, url] = [memberOf(one, 'message'), memberOf(one, 'url')]
  const address = stringOf(url)
  if (url === undefined || address === undefined) return undefined
  const message = stringOf(text)
  const params = objectText([
    ['mode', textOf('url')],
    ['message', text === undefined || message === undefined ? textOf('') : text],
    ['url', url],
  ])
  return { id: textMember(one, 'elicitationId'), message: message ?? '', url: address, params }
}

/** Returns the message about required pages, for users and for models. */
export const urlMessage = (
  server: string,
  error: JsonText,
  elicitations: readonly UrlElicitation[],
): string => {
  const message = textMember(error, 'message') ?? 'a page must be visited first'
  return [
    `Server ${server}: ${message}`,
    ...elicitations.map(({ message: what, url }) => (what === '' ? url : `${what}: ${url}`)),
  ].join('\n')
}
