import { matcherOf } from '../../kernel/globs.js'
import { textMember } from '../../kernel/json/text.js'
import type { Client } from '../../model/links.js'
import {
  type Amount,
  type ClientExposeRules,
  rulesOf,
  type Shown,
  shownFor,
  shownInAnyCase,
  type ToolExposureOptions,
} from '../../search/expose-rules.js'

/** The tools that stay in the list when a client searches for the others. */
interface Pins {
  /** Equal for pins with the same names. */
  readonly id: string
  readonly has: (exposed: string) => boolean
}

/** Describes how tools are presented to a client. */
export interface Choice extends Shown {
  readonly pins: Pins | undefined
  /** Maximum number of tools for models that stay listed beside the search tools. */
  readonly max: number
  /** True if the client loads tools on demand; pins are then marked as always needed. */
  readonly loadsByNeed: boolean
}

interface Chosen {
  readonly choice: Choice
  /**
   * Version of the lists that the choice was made for. Without sessions, a new version means a new choice.
   */
  readonly version: string
}

/** Number of search tools, which are always listed. */
const OWN_TOOLS = 5

const THIS_PROGRAM: Choice = {
  mode: 'direct',
  why: 'it is part of this proxy',
  pins: undefined,
  max: Number.POSITIVE_INFINITY,
  loadsByNeed: false,
}

/** Chooses for each client between the full tool list and the tool search. A session keeps its choice. */
export class ToolExposure {
  readonly #viewOf: (client: Client) => string
  #rules: ReturnType<typeof rulesOf>
  readonly #chosen = new WeakMap<Client, Chosen>()

  /** `viewOf` returns the name of a client's view. */
  constructor(options: ToolExposureOptions, viewOf: (client: Client) => string) {
    this.#viewOf = viewOf
    this.#rules = rulesOf(options)
  }

  /** Applies new options to clients without a choice. */
  reload(options: ToolExposureOptions): void {
    this.#rules = rulesOf(options)
  }

  /** Returns the choice of a client if it is made or certain; undefined if it depends on the lists. */
  known(client: Client): Choice | undefined {
    if (client.via === undefined) return THIS_PROGRAM
    const chosen = this.#chosen.get(client)
    if (chosen !== undefined) return chosen.choice
    const rules = this.#rulesFor(client)
    const shown = shownInAnyCase(rules)
    const choice = shown && choiceOf(rules, shown)
    // A session keeps its choice across reloads, so it is stored even when it was certain.
    if (choice !== undefined) this.#chosen.set(client, { choice, version: '' })
    return choice
  }

  /** Chooses once per session; without a session, once per version of the lists. */
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

  #rulesFor(client: Client): ClientExposeRules {
    return this.#rules(textMember(client.info, 'name') ?? '', this.#viewOf(client))
  }
}

const choiceOf = ({ pin = [], cap, loadsByNeed }: ClientExposeRules, shown: Shown): Choice => {
  const max = Math.max(0, cap - OWN_TOOLS)
  const pins = pin.length === 0 ? undefined : { id: JSON.stringify(pin), has: matcherOf(pin) }
  return { ...shown, pins, max, loadsByNeed }
}
