import { Interned } from '../../kernel/interned.js'
import { type JsonText, memberOf, stringOf, withoutMember } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { cutText } from '../../kernel/plain-text.js'
import type { ListName } from '../../model/listing.js'
import type { Server } from '../../peers/server.js'
import { exposedName } from '../names/names.js'
import { rewriteItem, type UriMap } from '../names/rewrite.js'
import { exposedUri } from '../names/uris.js'
import { repairItem } from '../repair/items.js'
import type { Showing } from '../showing.js'
import { createToolFilter, type ToolFilter } from '../showing.js'
import { bytesOf, digestOf, type Item, type Listed } from './listed.js'

const KEYS = {
  tools: 'name',
  prompts: 'name',
  resources: 'uri',
  templates: 'uriTemplate',
} as const satisfies Record<ListName, string>

/** Tools of one server whose `outputSchema` is left out. */
const UNKEPT_MAX = 1000
/** Of a name in the log. */
const SHOWN_BYTES = 128

let views = 0

/** How one server's items and URIs are written for clients. */
export class ServerView {
  /** Unique in this process. */
  readonly id: number
  readonly server: Server
  readonly showing: Showing
  readonly tools: ToolFilter
  readonly #log: Logger
  readonly #noted: Set<string>
  /** Tools that did not keep what their `outputSchema` promises. */
  readonly #unkept: Set<string>
  /** By what the server sent. */
  readonly #shown = new Interned<Listed>()

  /** `earlier` is how the same server was shown before. */
  constructor(server: Server, showing: Showing, log: Logger, earlier?: ServerView) {
    views += 1
    this.id = views
    this.#noted = earlier === undefined ? new Set() : earlier.#noted
    this.#unkept = new Set(earlier === undefined ? [] : earlier.#unkept)
    this.server = server
    this.showing = showing
    this.tools = createToolFilter(showing.tools)
    this.#log = log
  }

  /** Writes a URI or template of the server for clients. */
  readonly exposeUri: UriMap = uri =>
    this.showing.uris === 'preserve' ? uri : exposedUri(this.server.options.alias, uri)

  /** The name that clients see for a tool or prompt. */
  exposeName(list: 'tools' | 'prompts', own: string): string {
    const name = list === 'tools' ? this.tools.renamed(own) : own
    return this.showing.prefix ? exposedName(this.server.options.alias, name) : name
  }

  /** A list as clients may see it; the very same for the same list. */
  show(list: ListName, raw: readonly JsonText[]): Listed {
    return this.#shown.get(`${list} ${digestOf(raw)}`, () => {
      const items = this.#items(list, raw)
      const shown = items.map(({ text }) => text)
      return { raw, items, looks: digestOf(shown), bytes: bytesOf(raw) + bytesOf(shown) }
    })
  }

  /** Items as clients may see them: repaired, filtered, renamed; a bad or repeated one never spoils the others. */
  #items(list: ListName, raw: readonly JsonText[]): Item[] {
    const items = new Map<string, Item>()
    for (const text of raw) {
      const item = this.#showOne(list, text)
      if (item === undefined) continue
      if (items.has(item.own)) this.#note(list, item.own, 'its name comes twice; the first one is shown')
      else items.set(item.own, item)
    }
    return [...items.values()]
  }

  /**
   * A tool returned no structured output although it lists an `outputSchema`; clients refuse such a result (server/tools,
   * "Output Schema"). A view that follows this one shows it without. False if it does so already.
   */
  breaksOutput(own: string): boolean {
    if (this.#unkept.has(own) || this.#unkept.size >= UNKEPT_MAX) return false
    this.#unkept.add(own)
    this.#note('tools', own, 'it returned no structured output: its outputSchema is no longer shown')
    return true
  }

  #showOne(list: ListName, raw: JsonText): Item | undefined {
    const repaired = repairItem(list, raw)
    if ('dropped' in repaired) {
      this.#note(list, stringOf(memberOf(raw, KEYS[list])) ?? 'an item', `left out: ${repaired.dropped}`)
      return undefined
    }
    const own = stringOf(memberOf(repaired.item, KEYS[list])) ?? ''
    for (const note of repaired.notes) this.#note(list, own, note)
    if (list === 'tools' && !this.tools.isAllowed(own)) return undefined
    const kept =
      this.#unkept.has(own) && list === 'tools' ? withoutMember(repaired.item, 'outputSchema') : repaired.item
    const text = list === 'tools' ? this.tools.overridden(own, kept) : kept
    const exposed = list === 'tools' || list === 'prompts' ? this.exposeName(list, own) : this.exposeUri(own)
    const name = list === 'tools' || list === 'prompts' ? exposed : undefined
    return {
      server: this.server,
      own,
      exposed,
      text: rewriteItem(list, text, { name, uri: this.exposeUri }),
      promisesOutput: list === 'tools' && memberOf(text, 'outputSchema') !== undefined,
    }
  }

  /** Says a thing about an item once, not on every refresh. */
  #note(list: ListName, item: string, words: string): void {
    const shown = cutText(item, SHOWN_BYTES)
    const key = `${list} ${shown} ${words}`
    if (this.#noted.has(key) || this.#noted.size > 1000) return
    this.#noted.add(key)
    this.#log.warn({ server: this.server.name, list, item: shown }, words)
  }
}
