import type { Caller } from '../../kernel/caller.js'
import { mayContain } from '../../kernel/json/edit.js'
import { arrayText, type JsonText, memberOf, textMember, withoutMember } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import type { Meter, RepairKind } from '../../kernel/meter.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { LISTS, type ListName } from '../../model/listing.js'
import { announcesTasks, hasSessions, type ServerFacts } from '../../model/peer.js'
import type { Server } from '../../peers/server.js'
import { appFactsOf } from '../app-facts.js'
import { createToolFilter, describedBy, type Exposure, type ReadLock, type ToolFilter } from '../exposure.js'
import {
  digestOf,
  type Item,
  isSameList,
  type Listed,
  listedOf,
  packItems,
  type Unplaced,
} from '../listed.js'
import { exposedName } from '../names/names.js'
import { rewriteItem, type UriMap } from '../names/rewrite.js'
import { type AliasFinder, exposedUri, schemeAliases, splitUri } from '../names/uris.js'
import { repairItem } from '../repair/items.js'
import type { View } from '../views/view.js'
import { Interned } from './interned.js'

/** Maximum number of a server's tools with a hidden `outputSchema`. */
const SCHEMALESS_MAX = 1000
const SHOWN_BYTES = 128

let views = 0

/**
 * Returns whether tools may say that they run as tasks (2025-11-25, server/tools, `execution`): only a server
 * that announces tasks runs them.
 */
const listsTaskSupport = (list: ListName, facts: ServerFacts | undefined): boolean =>
  list === 'tools' && facts !== undefined && hasSessions(facts) && announcesTasks(facts)

/** Receives the log entries for repairs. */
interface Notes {
  readonly log: Logger
  readonly meter?: Meter | undefined
}

/** Converts the items and URIs of one server to their exposed form. */
export class ServerView {
  readonly id: number
  readonly server: Server
  readonly exposure: Exposure
  readonly tools: ToolFilter
  readonly #log: Logger
  readonly #meter: Meter | undefined
  readonly #findAlias: AliasFinder
  /** Items with a note already in the log. */
  readonly #noted: Set<string>
  /** Tools with a hidden `outputSchema`, and the time it was hidden, in ms since 1970. */
  readonly #schemaless: Map<string, number>
  /** Shown lists, by a digest of the server's list. */
  readonly #shown = new Interned<Listed>()

  constructor(server: Server, showing: Exposure, { log, meter }: Notes, earlier?: ServerView) {
    views += 1
    this.id = views
    this.#noted = earlier === undefined ? new Set() : earlier.#noted
    this.#schemaless = new Map(earlier === undefined ? [] : earlier.#schemaless)
    this.server = server
    this.exposure = showing
    this.tools = createToolFilter(showing.tools)
    this.#findAlias = schemeAliases(showing.uris === 'prefix' ? [server.options.alias] : [])
    this.#log = log
    this.#meter = meter
  }

  readonly exposeUri: UriMap = uri =>
    this.exposure.uris === 'preserve' ? uri : exposedUri(this.server.options.alias, uri)

  exposeName(list: 'tools' | 'prompts', own: string): string {
    const name = list === 'tools' ? this.tools.renamed(own) : own
    return this.exposure.prefix ? exposedName(this.server.options.alias, name) : name
  }

  /** Returns an exposed item as the server itself shows it, except for tools that are renamed. */
  unprefixed(list: ListName, item: Item): Item {
    if (item.isOurs === true) return item
    const own = list === 'tools' ? this.tools.renamed(item.own) : item.own
    const isNamed = list === 'tools' || list === 'prompts'
    const uri: UriMap = exposed => splitUri(exposed, this.#findAlias)?.uri ?? exposed
    return {
      ...item,
      exposed: own,
      text: rewriteItem(list, item.text, { name: isNamed ? own : undefined, uri }),
    }
  }

  isIn(view: View): boolean {
    return view.hasServer({ name: this.server.name, tags: this.exposure.tags })
  }

  isVisibleTo(caller: Caller): boolean {
    return this.exposure.access?.sees(caller) !== false
  }

  /**
   * Converts a list to its exposed form; returns the same reference for the same list. `before` is compared
   * first, which is faster.
   */
  show(list: ListName, raw: readonly JsonText[], facts?: ServerFacts, before?: Listed): Listed {
    const hasTasks = listsTaskSupport(list, facts)
    const kind = `${list} ${hasTasks} `
    if (before?.key.startsWith(kind) === true && isSameList(before.raw, raw)) return before
    const key = kind + digestOf([arrayText(raw)])
    const isFiltered = list === 'tools' && !this.tools.isOpen
    return this.#shown.get(key, () => {
      const locked = this.exposure.lock?.read(list, raw)
      return listedOf({ key, raw, locked, isFiltered }, () => this.#items(list, raw, locked, hasTasks))
    })
  }

  #items(
    list: ListName,
    raw: readonly JsonText[],
    locked: ReadLock | undefined,
    hasTasks: boolean,
  ): Pick<Listed, 'items' | 'leftOut'> {
    const items = new Map<string, Unplaced>()
    const leftOut = { filter: 0, broken: 0, twice: 0 }
    for (const [at, text] of raw.entries()) {
      const lock = locked?.states[at]
      const item = this.#showOne(list, lock?.shown ?? text, hasTasks)
      if (typeof item === 'string') leftOut[item] += 1
      else if (items.has(item.own)) {
        leftOut.twice += 1
        this.#note(list, item.own, 'its name is repeated; the first one is shown')
      } else items.set(item.own, lock === undefined ? item : { ...item, lock })
    }
    return { items: packItems([...items.values()]), leftOut }
  }

  /**
   * Hides the `outputSchema` of a tool that violated it, from the next view on. Returns false if it is hidden
   * already.
   */
  hideOutputSchema(own: string): boolean {
    if (this.#schemaless.has(own) || this.#schemaless.size >= SCHEMALESS_MAX) return false
    this.#schemaless.set(own, Date.now())
    const words = 'it returned no structured content: its outputSchema is no longer shown'
    this.#repaired('tools', own, words, 'output_schema')
    return true
  }

  /** Returns when the `outputSchema` of a tool was hidden, in ms since 1970; undefined if it is shown. */
  schemaWithdrawnMs(own: string): number | undefined {
    return this.#schemaless.get(own)
  }

  /** Converts an item to its exposed form, or returns the reason to hide it. */
  #showOne(list: ListName, raw: JsonText, hasTasks: boolean): Unplaced | 'filter' | 'broken' {
    const repaired = repairItem(list, raw)
    if ('dropped' in repaired) {
      const own = textMember(raw, LISTS[list].identity)
      this.#note(list, own ?? 'an item', `left out: ${repaired.dropped}`, { leftOut: true })
      return 'broken'
    }
    const { item, own, notes } = repaired
    for (const note of notes) this.#repaired(list, own, note, 'item')
    if (list === 'tools') return this.#tool(own, hasTasks ? item : withoutMember(item, 'execution'))
    const exposed = list === 'prompts' ? this.exposeName(list, own) : this.exposeUri(own)
    const name = list === 'prompts' ? exposed : undefined
    const text = rewriteItem(list, item, { name, uri: this.exposeUri })
    return { server: this.server, own, exposed, latin1: text.toString('latin1'), hasOutputSchema: false }
  }

  #tool(own: string, tool: JsonText): Unplaced | 'filter' {
    if (!this.tools.isAllowed(own)) return 'filter'
    const kept = this.#schemaless.has(own) ? withoutMember(tool, 'outputSchema') : tool
    const { description } = this.exposure
    const described = description === undefined ? kept : describedBy(description, kept, this.server.name)
    const shown = this.tools.overridden(own, described)
    const exposed = this.exposeName('tools', own)
    const text = rewriteItem('tools', shown, { name: exposed, uri: this.exposeUri })
    const hasOutputSchema =
      mayContain(shown, '"outputSchema"') && memberOf(shown, 'outputSchema') !== undefined
    const item = { server: this.server, own, exposed, latin1: text.toString('latin1'), hasOutputSchema }
    const app = appFactsOf(shown)
    return app === undefined ? item : { ...item, app }
  }

  /** Counts a list that could not be read. */
  unread(list: ListName): void {
    this.#meter?.counter('mcp_proxy_list_errors', this.server.name, list).add()
  }

  #repaired(list: ListName, item: string, words: string, kind: RepairKind): void {
    if (this.#note(list, item, words)) this.#meter?.counter('mcp_proxy_repairs', this.server.name, kind).add()
  }

  /** Logs a note about an item once, not on every reading. Returns whether it was new. */
  #note(list: ListName, item: string, words: string, more: object = {}): boolean {
    const shown = sanitizeLine(item, SHOWN_BYTES)
    const key = `${list} ${shown} ${words}`
    if (this.#noted.has(key) || this.#noted.size > 1000) return false
    this.#noted.add(key)
    this.#log.warn({ server: this.server.name, list, item: shown, ...more }, words)
    return true
  }
}
