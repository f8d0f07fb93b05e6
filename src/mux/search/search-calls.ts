import type { Catalog } from '../../catalog/catalog.js'
import { type Item, isOnlyForApps, type Merged, mergedForModels } from '../../catalog/listed.js'
import type { Owners } from '../../catalog/owners.js'
import { Fault } from '../../kernel/faults.js'
import {
  type JsonText,
  JsonTextError,
  kindOf,
  memberOf,
  oneLine,
  rawText,
  readJson,
  stringOf,
  textMember,
  textOf,
  withMember,
  withoutMember,
} from '../../kernel/json/text.js'
import type { Client, Viewer } from '../../model/links.js'
import type { Answer, Outcome } from '../../model/outcome.js'
import { errorCode, RPC_CODES } from '../../model/rpc-error.js'
import { isSearchTool, READ_CHARS, READ_CHARS_MAX, type SearchToolName } from '../../search/search-tools.js'
import { similarNames } from '../../search/similar-names.js'
import { type CallRecord, type CallVerdict, type Interceptor, NEXT } from '../calls/call-record.js'
import type { ServerStarter } from '../clients/server-starter.js'
import {
  describedText,
  errorAnswer,
  foundText,
  nothingText,
  onlyReads,
  textAnswer,
  unknownText,
} from './answers.js'
import { BadArguments, SearchArguments } from './arguments.js'
import { ToolFinder } from './finder.js'
import type { LongResults } from './long-results.js'

/** Maximum number of suggested names. */
const NEAR = 3
/** Minimum similarity of an unknown name to one that it misspells. */
const SLIP = 0.8
/** Maximum size of a schema shown in an error about arguments. */
const SCHEMA_BYTES = 2048
const DESCRIBED_MAX = 10
/** Maximum length of an unknown name that is searched for. */
const NAME_CHARS = 200

export interface SearchCallsContext {
  readonly catalog: Catalog
  readonly owners: Owners
  readonly starter: ServerStarter
  readonly longResults: LongResults
}

/**
 * Serves the search tools. A call through one of them is renamed to its target and handled like any other;
 * the rest is answered here.
 */
export class SearchCalls {
  readonly #context: SearchCallsContext
  readonly #finder: ToolFinder
  /** The server's tool behind each call through a search tool. */
  readonly #called = new WeakMap<CallRecord, Item | 'ours'>()

  constructor(context: SearchCallsContext) {
    const { catalog } = context
    this.#context = context
    this.#finder = new ToolFinder(({ server }) => catalog.viewOf(server.options).exposure.tags)
  }

  close(): void {
    this.#context.longResults.close()
  }

  /** Forgets a disconnected client. */
  forget(client: Client): void {
    this.#context.longResults.forget(client)
  }

  /** Returns whether a client uses the tool search; decides it now for a client without a tool list. */
  isFor(viewer: Viewer): boolean {
    const { catalog } = this.#context
    return (catalog.choiceOf(viewer.client) ?? catalog.choice(viewer))?.mode === 'search'
  }

  /** Returns the tool that a call with these params would reach, directly or through a search tool. */
  toolIn(viewer: Viewer, params: JsonText): string | undefined {
    const name = textMember(params, 'name')
    if (name === undefined || !isSearchTool(name) || !this.isFor(viewer)) return name
    const args = memberOf(params, 'arguments')
    return name === 'call_read_tool' || name === 'call_write_tool'
      ? args && textMember(args, 'name')
      : undefined
  }

  get interceptors(): readonly Interceptor[] {
    const [name, methods] = ['search', ['tools/call']] as const
    return [
      { name, methods, stage: 'request', run: this.#take },
      { name, methods, stage: 'settled', run: this.#shown },
    ]
  }

  /** Answers the call of a search tool, or lets it continue as that of a server's tool. */
  readonly #take = (record: CallRecord): CallVerdict | Promise<CallVerdict> => {
    const name = record.named ?? (record.params && textMember(record.params, 'name'))
    if (name === undefined || !isSearchTool(name) || !this.isFor(record)) return NEXT
    try {
      const verdict = this.#serve(record, name)
      return verdict instanceof Promise ? verdict.catch(answerToBadArguments) : verdict
    } catch (thrown) {
      return answerToBadArguments(thrown)
    }
  }

  #serve(call: CallRecord, name: SearchToolName): CallVerdict | Promise<CallVerdict> {
    const text = call.params && memberOf(call.params, 'arguments')
    switch (name) {
      case 'call_read_tool':
      case 'call_write_tool':
        return this.#redirect(call, name, calledIn(text))
      case 'find_tools':
        return this.#find(call, new SearchArguments(text))
      case 'describe_tools':
        return this.#describe(call, new SearchArguments(text))
      case 'read_result':
        return this.#read(call, new SearchArguments(text))
    }
  }

  /** Turns a call into that of a server's tool. Most names are known, and their calls stay synchronous. */
  #redirect(call: CallRecord, by: SearchToolName, to: Target): CallVerdict | Promise<CallVerdict> {
    const { exposed } = to
    const known = this.#itemOf(call, exposed)
    if (known !== undefined) return this.#redirected(call, by, to, known)
    return this.#lookUp(call, exposed).then(async item =>
      item === undefined
        ? errorAnswer(unknownText(exposed, await this.#near(call, exposed)))
        : this.#redirected(call, by, to, item),
    )
  }

  #redirected(call: CallRecord, by: SearchToolName, to: Target, item: Item | 'ours'): CallVerdict {
    if (by === 'call_read_tool' && !(item !== 'ours' && onlyReads(item)))
      return errorAnswer(`${to.exposed} may change things: use call_write_tool`)
    this.#rename(call, to)
    this.#called.set(call, item)
    call.isSearched = true
    return NEXT
  }

  async #find(call: CallRecord, args: SearchArguments): Promise<Answer> {
    const query = args.needed('query', 500)
    const also = args.texts('also', 4, 200)
    const server = args.text('server')
    const limit = args.whole('limit', { least: 1, most: 20, usual: 5 })
    const all = await this.#all(call)
    const servers = all.parts.flatMap(({ items }) => items[0]?.server.name ?? [])
    if (server !== undefined && !servers.includes(server))
      return errorAnswer(`server: no server with tools has this name. ${nothingText(all)}`)
    const found = await this.#finder.find(all, { query, also, limit }, server)
    if (found.length === 0) return textAnswer(nothingText(all))
    const count = all.parts
      .filter(({ items }) => server === undefined || items[0]?.server.name === server)
      .reduce((sum, { items }) => sum + items.length, 0)
    return textAnswer(foundText(found, count))
  }

  async #describe(call: CallRecord, args: SearchArguments): Promise<Answer> {
    const names = args.texts('names', DESCRIBED_MAX)
    if (names.length === 0) throw new BadArguments('names: must be a list of names')
    const { byExposed } = await this.#all(call)
    const texts: string[] = []
    for (const name of new Set(names)) {
      const item = byExposed.get(name)
      texts.push(item === undefined ? unknownText(name, await this.#near(call, name)) : describedText(item))
    }
    return names.some(name => byExposed.has(name))
      ? textAnswer(texts.join('\n'))
      : errorAnswer(texts.join('\n'))
  }

  #read(call: CallRecord, args: SearchArguments): Answer {
    const id = args.needed('id', 64)
    const text = this.#context.longResults.read(call, {
      id,
      offset: args.whole('offset', { least: 0, most: Number.MAX_SAFE_INTEGER, usual: 0 }),
      length: args.whole('length', { least: 1, most: READ_CHARS_MAX, usual: READ_CHARS }),
      find: args.text('find', 200),
    })
    return text === undefined
      ? errorAnswer('id: this result is no longer kept. Call the tool again.')
      : textAnswer(text)
  }

  /** Returns all tools for a viewer's model, as fresh as in a list. */
  async #all(viewer: Viewer): Promise<Merged> {
    const { catalog, starter } = this.#context
    await catalog.refresh(viewer, 'tools', starter.waitMsFor(viewer))
    return mergedForModels(catalog.visible(viewer, 'tools'))
  }

  /** Returns likely intended names: a close spelling, then names of similar meaning. */
  async #near(viewer: Viewer, name: string): Promise<readonly string[]> {
    const merged = await this.#all(viewer)
    const query = name.slice(0, NAME_CHARS)
    const found = await this.#finder.find(merged, { query, also: [], limit: NEAR })
    const spelt = similarNames(query, merged.byExposed.keys(), NEAR)
    const names = [
      ...spelt.filter(({ share }) => share >= SLIP).slice(0, 1),
      ...found.map(({ exposed }) => ({ name: exposed })),
      ...spelt,
    ]
    return [...new Set(names.map(({ name }) => name))].slice(0, NEAR)
  }

  /** Finds a tool that models may call. */
  #itemOf(viewer: Viewer, exposed: string): Item | undefined {
    const item = this.#context.catalog.find(viewer, 'tools', exposed)
    return item === undefined || isOnlyForApps(item) ? undefined : item
  }

  /** Finds a tool that is in no known list; `ours` for a sign-in tool. */
  async #lookUp(viewer: Viewer, exposed: string): Promise<Item | 'ours' | undefined> {
    const { owners } = this.#context
    try {
      const owned = await owners.named(viewer, 'tools', exposed)
      return this.#itemOf(viewer, exposed) ?? (owned.isOurs === true ? 'ours' : undefined)
    } catch (thrown) {
      const fault = Fault.from(thrown)
      if (fault.code === 'invalid-params') return undefined
      throw fault
    }
  }

  #rename(call: CallRecord, { exposed, args }: Target): void {
    const bare = withoutMember(call.params ?? rawText('{}'), 'name', 'arguments')
    const named = withMember(bare, 'name', textOf(exposed))
    call.params = args === undefined ? named : withMember(named, 'arguments', args)
    // Sets `named` only on calls that already have it.
    if (call.named !== undefined) call.named = exposed
  }

  readonly #shown = (call: CallRecord, outcome: Outcome | undefined): CallVerdict => {
    const item = this.#called.get(call)
    if (item === undefined || outcome === undefined) return NEXT
    if (outcome.kind !== 'error' || item === 'ours') return this.#context.longResults.cut(call, outcome)
    if (errorCode(outcome.error) !== RPC_CODES['invalid-params']) return outcome
    const schema = memberOf(item.text, 'inputSchema')
    const message = textMember(outcome.error, 'message') ?? ''
    const words =
      schema !== undefined && schema.length <= SCHEMA_BYTES
        ? `${message}\nIts input schema: ${oneLine(schema).toString()}`
        : `${message}\nCall describe_tools for its arguments.`
    return { ...outcome, error: withMember(outcome.error, 'message', textOf(words)) }
  }
}

const answerToBadArguments = (thrown: unknown): Answer => {
  if (thrown instanceof BadArguments) return errorAnswer(thrown.message)
  throw thrown
}

interface Target {
  readonly exposed: string
  readonly args?: JsonText
}

/** Reads the target of a call; models also send arguments as JSON text. Throws BadArguments. */
const calledIn = (text: JsonText | undefined): Target => {
  const exposed = text && textMember(text, 'name')
  if (text === undefined || exposed === undefined) throw new BadArguments('name: must be text')
  const given = memberOf(text, 'arguments')
  if (given === undefined || given.toString('latin1') === 'null') return { exposed }
  const written = stringOf(given)
  const args = written === undefined ? given : parsed(written)
  if (args === undefined || kindOf(args) !== 'object')
    throw new BadArguments('arguments: must be an object, the arguments of the tool')
  return { exposed, args }
}

const parsed = (written: string): JsonText | undefined => {
  try {
    return readJson(Buffer.from(written))
  } catch (thrown) {
    if (thrown instanceof JsonTextError) return undefined
    throw thrown
  }
}
