import {
  type Amount,
  type ClientRules,
  type ExposingOptions,
  rulesOf,
  type Shown,
  shownFor,
  shownInAnyCase,
} from '../../budget/expose-rules.js'
import { matcherOf } from '../../kernel/globs.js'
import { textMember } from '../../kernel/json/text.js'
import type { Client } from '../../model/links.js'

/** Tools that stay in the list. */
export interface Pins {
  /** Equal for those that name the same. */
  readonly id: string
  readonly has: (exposed: string) => boolean
  /** The most of them beside those of search mode. */
  readonly max: number
}

/** How a client is shown tools. */
export interface Choice extends Shown {
  readonly pins: Pins | undefined
  /** Whether the client loads tools by need, and is told that pins are always needed. */
  readonly loadsByNeed: boolean
}

interface Chosen {
  readonly choice: Choice
  /** What it was chosen for: another list is another choice where there are no sessions. */
  readonly version: string
}

/** The tools of search mode, which are in its list in any case. */
const OWN_TOOLS = 5

const THIS_PROGRAM: Choice = {
  mode: 'direct',
  why: 'it is a part of this proxy',
  pins: undefined,
  loadsByNeed: false,
}

/** Chooses for each client whether it is shown tools or searches them; a session keeps what was chosen. */
export class Exposing {
  readonly #viewOf: (client: Client) => string
  #rules: ReturnType<typeof rulesOf>
  readonly #chosen = new WeakMap<Client, Chosen>()

  /** `viewOf`: the name of the view of a client. */
  constructor(options: ExposingOptions, viewOf: (client: Client) => string) {
    this.#viewOf = viewOf
    this.#rules = rulesOf(options)
  }

  /** Takes effect for those for whom nothing was chosen. */
  reload(options: ExposingOptions): void {
    this.#rules = rulesOf(options)
  }

  /** What was chosen for a client, or is certain to be; undefined if that depends on what there is. */
  known(client: Client): Choice | undefined {
    if (client.via === undefined) return THIS_PROGRAM
    const chosen = this.#chosen.get(client)
    if (chosen !== undefined) return chosen.choice
    const rules = this.#rulesFor(client)
    const shown = shownInAnyCase(rules)
    const choice = shown && choiceOf(rules, shown)
    // Even so a session keeps it, whatever a reload says.
    if (choice !== undefined) this.#chosen.set(client, { choice, version: '' })
    return choice
  }

  /** Chooses once for a session, and else anew for another version of what there is. */
  choose(client: Client, listed: () => Amount & { readonly version: string }): Choice {
    const known = this.known(client)
    const chosenFor = this.#chosen.get(client)?.version ?? ''
    if (known !== undefined && (client.serverRequests === 'pushed' || chosenFor === '')) return known
    const { version, ...amount } = listed()
    if (known !== undefined && chosenFor === version) return known
    const rules = this.#rulesFor(client)
    const choice = choiceOf(rules, shownFor(rules, amount))
    this.#chosen.set(client, { choice, version })
    return choice
  }

  #rulesFor(client: Client): ClientRules {
    return this.#rules(textMember(client.info, 'name') ?? '', this.#viewOf(client))
  }
}

const choiceOf = ({ pin = [], cap, loadsByNeed }: ClientRules, shown: Shown): Choice => {
  const max = Math.max(0, cap - OWN_TOOLS)
  const pins = pin.length === 0 ? undefined : { id: JSON.stringify([pin, max]), has: matcherOf(pin), max }
  return { ...shown, pins, loadsByNeed }
}
