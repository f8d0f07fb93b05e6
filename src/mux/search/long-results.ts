import { randomBytes } from 'node:crypto'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Caller } from '../../kernel/caller.js'
import {
  arrayText,
  elementsOf,
  type JsonText,
  memberOf,
  textMember,
  textOf,
  withMember,
  withoutMember,
} from '../../kernel/json/text.js'
import { textBlock } from '../../model/content.js'
import type { Client, Viewer } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'

const KEPT_MS = 10 * 60_000
const MIB = 1024 * 1024
/** Maximum size of all kept results, and of one client's; the oldest are dropped first. */
const KEPT_BYTES = 64 * MIB
const CLIENT_BYTES = 16 * MIB
/** A string may take two bytes per character. */
const BYTES_PER_CHAR = 2
/** Number of characters shown before and after a match in a line. */
const AROUND = 500

interface Kept {
  readonly text: string
  readonly caller: Caller
  readonly view: string
  readonly client: number
  readonly endsMs: number
}

/** The requested part of a kept result. */
export interface Wanted {
  readonly id: string
  readonly offset: number
  readonly length: number
  readonly find: string | undefined
}

export interface LongResultsOptions {
  readonly clock: Clock
  /** Maximum number of characters of a result that are returned at once. */
  readonly maxChars: () => number
  /** Returns the name of a viewer's view. */
  readonly viewOf: (viewer: Viewer) => string
}

/** Cuts long results for models, and keeps them for a while so that they can be read in parts. */
export class LongResults {
  readonly #options: LongResultsOptions
  /** Oldest first. */
  readonly #kept = new Map<string, Kept>()
  #bytes = 0
  #timer: Timer | undefined

  constructor(options: LongResultsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#kept.size
  }

  close(): void {
    this.#timer?.cancel()
    this.#kept.clear()
    this.#bytes = 0
  }

  /** Forgets the kept results of a disconnected client. */
  forget({ id }: Client): void {
    for (const [key, { client }] of this.#kept) if (client === id) this.#drop(key)
  }

  /** Returns the outcome for the client: a long result is cut at the end of a line. */
  cut(viewer: Viewer, outcome: Outcome): Outcome {
    const max = this.#options.maxChars()
    // A character takes at least one byte, so most results need no further check.
    if (outcome.kind !== 'result' || outcome.result.length <= max) return outcome
    const blocks = [...elementsOf(memberOf(outcome.result, 'content') ?? arrayText([]))].map(readBlock)
    const whole = blocks.flatMap(({ text }) => text ?? []).join('\n')
    if (whole.length <= max) return outcome
    const end = lineEnd(whole, 0, max)
    const id = this.#keep(viewer, whole)
    const content = arrayText([...firstOf(blocks, end), textBlock(remark(id, end, whole.length))])
    const result = withMember(withoutMember(outcome.result, 'structuredContent'), 'content', content)
    return { kind: 'result', result, isError: outcome.isError }
  }

  /** Returns a part of a kept result as text for a model; undefined if it is not kept for this viewer. */
  read(viewer: Viewer, { id, offset, length, find }: Wanted): string | undefined {
    const kept = this.#of(viewer, id)
    if (kept === undefined) return undefined
    const { text } = kept
    if (find !== undefined && find !== '') return linesWith(text, { id, offset, length, find })
    if (offset >= text.length) return `[The result has ${grouped(text.length)} characters.]`
    const start = isInPair(text, offset) ? offset + 1 : offset
    const end = lineEnd(text, start, length)
    const more = end < text.length ? ` More: read_result id=${id} offset=${end}` : ' That is the end.'
    const where = `[${grouped(start)} to ${grouped(end)} of ${grouped(text.length)} characters.${more}]`
    return `${text.slice(start, end)}\n${where}`
  }

  #of(viewer: Viewer, id: string): Kept | undefined {
    const kept = this.#kept.get(id)
    if (kept === undefined) return undefined
    const { caller, view } = kept
    const { principal, scopes } = viewer.caller
    // Another credential or view may not allow access to the source.
    const mayAll = scopes === undefined || [...(caller.scopes ?? [])].every(scope => scopes.has(scope))
    const isSame = caller.principal === principal && view === this.#options.viewOf(viewer)
    return isSame && mayAll ? kept : undefined
  }

  /** Keeps a text and returns its id; undefined if it is too long. */
  #keep(viewer: Viewer, text: string): string | undefined {
    const { clock, viewOf } = this.#options
    const { caller, client } = viewer
    if (text.length * BYTES_PER_CHAR > CLIENT_BYTES) return undefined
    const id = `r${randomBytes(6).toString('hex')}`
    const endsMs = clock.nowMs() + KEPT_MS
    this.#kept.set(id, { text, caller, view: viewOf(viewer), client: client.id, endsMs })
    this.#bytes += text.length * BYTES_PER_CHAR
    this.#makeRoom(client.id)
    this.#timer ??= clock.after(KEPT_MS, () => this.#sweep())
    return id
  }

  #makeRoom(client: number): void {
    const own = [...this.#kept].filter(([, kept]) => kept.client === client)
    let bytes = own.reduce((sum, [, { text }]) => sum + text.length * BYTES_PER_CHAR, 0)
    for (const [id, { text }] of own) {
      if (bytes <= CLIENT_BYTES) break
      bytes -= text.length * BYTES_PER_CHAR
      this.#drop(id)
    }
    for (const id of this.#kept.keys()) {
      if (this.#bytes <= KEPT_BYTES) break
      this.#drop(id)
    }
  }

  #drop(id: string): void {
    this.#bytes -= (this.#kept.get(id)?.text.length ?? 0) * BYTES_PER_CHAR
    this.#kept.delete(id)
  }

  #sweep(): void {
    const nowMs = this.#options.clock.nowMs()
    for (const [id, { endsMs }] of this.#kept) if (endsMs <= nowMs) this.#drop(id)
    const [next] = this.#kept.values()
    this.#timer = next && this.#options.clock.after(next.endsMs - nowMs, () => this.#sweep())
  }
}

interface Block {
  readonly json: JsonText
  /** The text of a block; undefined for images and the like. */
  readonly text: string | undefined
  readonly isPlain: boolean
}

const readBlock = (json: JsonText): Block => {
  const isPlain = textMember(json, 'type') === 'text'
  const holder = isPlain ? json : memberOf(json, 'resource')
  return { json, text: holder && textMember(holder, 'text'), isPlain }
}

/** Returns the blocks before position `end` of the text, the last one cut, and all blocks without text. */
const firstOf = (blocks: readonly Block[], end: number): readonly JsonText[] => {
  let begin = 0
  return blocks.flatMap(({ json, text, isPlain }) => {
    if (text === undefined) return [json]
    const rest = end - begin
    begin += text.length + 1
    if (rest <= 0) return []
    if (text.length <= rest) return [json]
    const shown = text.slice(0, rest).replace(/\n$/, '')
    return [isPlain ? withMember(json, 'text', textOf(shown)) : textBlock(shown)]
  })
}

const remark = (id: string | undefined, shown: number, all: number): string => {
  const more =
    id === undefined
      ? 'The rest was too long to keep: ask for less.'
      : `More: read_result id=${id} offset=${shown}, or find="…"`
  return `[${grouped(shown)} of ${grouped(all)} characters. ${more}]`
}

/** Returns the end of a part: after its last whole line, unless that leaves less than half of it. */
const lineEnd = (text: string, start: number, length: number): number => {
  const end = start + length
  if (end >= text.length) return text.length
  const line = text.lastIndexOf('\n', end - 1) + 1
  if (line > start + length / 2) return line
  return isInPair(text, end) && end - 1 > start ? end - 1 : end
}

/** Returns whether a position is inside a surrogate pair. */
const isInPair = (text: string, place: number): boolean => {
  const code = text.charCodeAt(place)
  return place > 0 && code >= 0xdc00 && code <= 0xdfff
}

const linesWith = (text: string, { id, offset, length, find }: Wanted & { find: string }): string => {
  const lower = text.toLowerCase()
  // Some letters are longer in lower case, which would shift positions.
  const isFolded = lower.length === text.length
  const [searched, wanted] = isFolded ? [lower, find.toLowerCase()] : [text, find]
  const groups: string[] = []
  let [chars, from] = [0, offset]
  for (;;) {
    const at = searched.indexOf(wanted, from)
    if (at < 0) break
    const begin = Math.max(offset, lineBefore(text, at), at - AROUND)
    const end = Math.min(lineAfter(text, at + find.length), at + find.length + AROUND)
    const group = `[offset ${begin}]\n${text.slice(begin, end)}`
    if (groups.length > 0 && chars + group.length > length) {
      return [...groups, `[More: read_result id=${id} find=${JSON.stringify(find)} offset=${begin}]`].join(
        '\n',
      )
    }
    groups.push(group)
    chars += group.length
    from = Math.max(end, at + 1)
  }
  if (groups.length === 0) return `[No line from offset ${offset} on has ${JSON.stringify(find)}.]`
  return [...groups, '[No other line has it.]'].join('\n')
}

/** Returns the start of the line before a position's line. */
const lineBefore = (text: string, place: number): number => {
  const own = place === 0 ? 0 : text.lastIndexOf('\n', place - 1) + 1
  return own < 2 ? 0 : text.lastIndexOf('\n', own - 2) + 1
}

/** Returns the end of the line after a position's line. */
const lineAfter = (text: string, place: number): number => {
  const own = text.indexOf('\n', place)
  const next = own < 0 ? -1 : text.indexOf('\n', own + 1)
  return next < 0 ? text.length : next
}

const grouped = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
