import { hash } from 'node:crypto'
import type { ItemLock, KeptDifference, ListLock, ReadLock } from '../../catalog/exposure.js'
import { changedMembers, type Difference, type LockedPart } from '../../kernel/definitions.js'
import { type JsonText, rawText, textMember } from '../../kernel/json/text.js'
import { treeText } from '../../kernel/json/tree.js'
import { LOCKED_LISTS, type LockedList } from '../../kernel/lock-file.js'
import type { Logger } from '../../kernel/logger.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { LISTS, type ListName } from '../../model/listing.js'

/** What happens to items that differ from the lock file. */
export interface LockRules {
  readonly onChange: 'warn' | 'hide' | 'ask'
  readonly onNew: 'warn' | 'hide'
}

export interface ServerLockContext {
  readonly log: Logger
  /** Writes a line of the audit log. */
  readonly audit: (facts: Readonly<Record<string, unknown>>) => void
  /** Returns how many more differences may be kept. */
  readonly room: () => number
}

const NAME_BYTES = 256
const FIELD_BYTES = 64
const FIELDS_MAX = 10
/** Maximum differences of one reading that are reported; `count` has all of them. */
const REPORTED_AT_ONCE = 1000
/** Maximum differences that are remembered as reported. */
const REPORTED_MAX = 10_000

const isLockedList = (list: ListName): list is LockedList =>
  (LOCKED_LISTS as readonly ListName[]).includes(list)

/** The reading of the instructions, which all connections share. */
const INSTRUCTIONS = {}

interface FoundDifferences {
  readonly count: number
  readonly kept: readonly KeptDifference[]
}

/** Compares the lists and instructions of one server with the lock file, and reports each difference once. */
export class ServerLock implements ListLock {
  readonly #part: LockedPart
  readonly #rules: LockRules
  readonly #context: ServerLockContext
  readonly #reported = new Set<string>()
  /** The differences of each list that connections have, by its reading, and of the instructions. */
  readonly #found = new Map<object, FoundDifferences>()

  constructor(part: LockedPart, rules: LockRules, context: ServerLockContext) {
    this.#part = part
    this.#rules = rules
    this.#context = context
  }

  get isEnforced(): boolean {
    const { onChange, onNew } = this.#rules
    return onChange !== 'warn' || onNew !== 'warn'
  }

  get count(): number {
    const all = [...this.#found.values()].map(({ count }) => count)
    return Math.max(this.differences.length, ...all)
  }

  /** Connections of several principals may have the same differences. */
  get differences(): readonly KeptDifference[] {
    const kept = [...this.#found.values()].flatMap(found => found.kept)
    return [...new Map(kept.map(one => [JSON.stringify(one), one])).values()]
  }

  read(list: ListName, raw: readonly JsonText[]): ReadLock | undefined {
    if (!isLockedList(list)) return undefined
    const compared = raw.map(item => this.#compare(list, item))
    const found = compared.filter(difference => difference !== undefined)
    const reading: ReadLock = {
      states: compared.map((difference, at) => difference && this.#stateOf(list, difference, raw[at])),
      get differences() {
        return found.map(keptOf)
      },
      wasRead: isWhole => {
        const sent = new Set(raw.map(item => textMember(item, LISTS[list].identity) ?? ''))
        this.#report(reading, [...found, ...(isWhole ? this.#part.removed(list, sent) : [])])
      },
      released: () => void this.#found.delete(reading),
    }
    return reading
  }

  instructions(text: string | undefined): string | undefined {
    const difference = this.#part.instructions(text)
    const isShown = difference === undefined || this.#rules.onChange === 'warn' || text === undefined
    return isShown ? text : this.#part.locked.instructions
  }

  met(instructions: string | undefined): void {
    const difference = this.#part.instructions(instructions)
    this.#report(INSTRUCTIONS, difference === undefined ? [] : [difference])
  }

  #compare(list: LockedList, item: JsonText): Difference | undefined {
    const own = textMember(item, LISTS[list].identity)
    return own === undefined ? undefined : this.#part.item(list, own, item)
  }

  #stateOf(list: LockedList, difference: Difference, sent: JsonText | undefined): ItemLock | undefined {
    const fields = changedMembers(difference)
    const { onChange } = this.#rules
    if (difference.change === 'added')
      return this.#rules.onNew === 'warn' ? undefined : { reason: 'not-locked', fields, isHidden: true }
    if (onChange === 'warn') return undefined
    const isHidden = onChange === 'hide' || list === 'templates'
    // Models read the text that was reviewed.
    const [locked] = this.#part.locked[list].get(difference.name) ?? []
    const shown = isHidden || locked === undefined ? undefined : rawText(treeText(locked))
    return { reason: 'tool-changed', fields, isHidden, shown, sent: isHidden ? undefined : sent }
  }

  #report(reading: object, found: readonly Difference[]): void {
    this.#found.delete(reading)
    // Differences of other servers leave less room, but hide none from the log and the audit.
    const shown = found.slice(0, REPORTED_AT_ONCE).map(difference => {
      const kept = keptOf(difference)
      if (this.#isNew(difference)) this.#reportOne(kept)
      return kept
    })
    const kept = shown.slice(0, Math.max(0, this.#context.room()))
    if (found.length > 0) this.#found.set(reading, { count: found.length, kept })
  }

  #isNew({ kind, name, change, fields }: Difference): boolean {
    const now = fields.map(({ is }) => is && treeText(is))
    const key = hash('sha256', JSON.stringify([kind, name, change, now]), 'base64url')
    if (this.#reported.has(key)) return false
    if (this.#reported.size >= REPORTED_MAX) this.#reported.clear()
    this.#reported.add(key)
    return true
  }

  #reportOne({ kind, name, change, fields }: KeptDifference): void {
    const { onChange, onNew } = this.#rules
    const action = change === 'added' ? onNew : onChange
    const facts = { server: this.#part.server, kind, name, change, fields, action }
    this.#context.log.warn(facts, 'an item differs from the lock file')
    this.#context.audit(facts)
  }
}

const keptOf = (difference: Difference): KeptDifference => ({
  kind: difference.kind,
  name: sanitizeLine(difference.name, NAME_BYTES),
  change: difference.change,
  fields: changedMembers(difference)
    .slice(0, FIELDS_MAX)
    .map(field => sanitizeLine(field, FIELD_BYTES)),
})
