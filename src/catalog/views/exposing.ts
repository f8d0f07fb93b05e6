import { matcherOf } from '../../kernel/globs.js'
import { textMember } from '../../kernel/json/text.js'
import { toolCapOf } from '../../kernel/tool-cost.js'
import type { Client } from '../../model/links.js'

/** What is said of how tools are shown; what is absent is left to what says less. */
interface ExposeRules {
  readonly mode?: 'direct' | 'search' | 'auto' | undefined
  /** Globs of exposed names of tools that stay in the list whatever the mode. */
  readonly pin?: readonly string[] | undefined
  /** The most tokens of a list, before `auto` means `search`. */
  readonly tokens?: number | undefined
}

interface ClientExpose {
  /** A glob of `clientInfo.name`; the first that fits and says something counts. */
  readonly name: string
  readonly maxTools: number | undefined
  readonly expose: ExposeRules | undefined
}

export interface ExposingOptions {
  readonly expose: ExposeRules
  readonly views: readonly { readonly name: string; readonly expose: ExposeRules | undefined }[]
  readonly clients: readonly ClientExpose[]
}

/** Tools that stay in the list. */
export interface Pins {
  /** Equal for those that name the same. */
  readonly id: string
  readonly has: (exposed: string) => boolean
  /** The most of them beside those of search mode. */
  readonly max: number
}

/** How a client is shown tools. */
export interface Choice {
  readonly mode: 'direct' | 'search'
  /** For people. */
  readonly why: string
  readonly pins: Pins | undefined
  /** Whether the client loads tools by need, and is told that pins are always needed. */
  readonly loadsByNeed: boolean
}

/** What a client would be shown. */
export interface Amount {
  readonly tools: number
  readonly tokens: () => number
}

interface Rules extends ExposeRules {
  /** If nothing is said, a list is cut for those alone who are known to cut it. */
  readonly mode: 'direct' | 'search' | 'auto' | undefined
  readonly tokens: number
  readonly cap: number
  readonly loadsByNeed: boolean
}

interface Chosen {
  readonly choice: Choice
  /** What it was chosen for: another list is another choice where there are no sessions. */
  readonly version: string
}

/** The tools of search mode, which are in its list in any case. */
const OWN_TOOLS = 5
const TOKENS = 10_000

const THIS_PROGRAM: Choice = {
  mode: 'direct',
  why: 'it is a part of this proxy',
  pins: undefined,
  loadsByNeed: false,
}

/** Chooses for each client whether it is shown tools or searches them; a session keeps what was chosen. */
export class Exposing {
  readonly #viewOf: (client: Client) => string
  #options: ExposingOptions
  #clients: readonly (ClientExpose & { readonly matches: (name: string) => boolean })[] = []
  readonly #chosen = new WeakMap<Client, Chosen>()

  /** `viewOf`: the name of the view of a client. */
  constructor(options: ExposingOptions, viewOf: (client: Client) => string) {
    this.#viewOf = viewOf
    this.#options = options
    this.reload(options)
  }

  /** Takes effect for those for whom nothing was chosen. */
  reload(options: ExposingOptions): void {
    this.#options = options
    this.#clients = options.clients.map(rule => ({ ...rule, matches: matcherOf([rule.name]) }))
  }

  /** What was chosen for a client, or is certain to be; undefined if that depends on what there is. */
  known(client: Client): Choice | undefined {
    if (client.via === undefined) return THIS_PROGRAM
    const chosen = this.#chosen.get(client)
    if (chosen !== undefined) return chosen.choice
    const choice = fixedChoice(this.#rulesFor(client))
    // Even so a session keeps it, whatever a reload says.
    if (choice !== undefined) this.#chosen.set(client, { choice, version: '' })
    return choice
  }

  /** Chooses once for a session, and else anew for another `version` of what there is. */
  choose(client: Client, version: string, amount: Amount): Choice {
    const known = this.known(client)
    const chosen = this.#chosen.get(client)
    const isKept = client.serverRequests === 'pushed' || chosen?.version === '' || chosen?.version === version
    if (known !== undefined && (chosen === undefined || isKept)) return known
    const choice = choiceFor(this.#rulesFor(client), amount)
    this.#chosen.set(client, { choice, version })
    return choice
  }

  #rulesFor(client: Client): Rules {
    const name = textMember(client.info, 'name') ?? ''
    const fitting = this.#clients.filter(({ matches }) => matches(name))
    const view = this.#viewOf(client)
    const said = [
      fitting.find(({ expose }) => expose !== undefined)?.expose,
      this.#options.views.find(one => one.name === view)?.expose,
      this.#options.expose,
    ]
    const max = fitting.find(({ maxTools }) => maxTools !== undefined)?.maxTools
    const usual = toolCapOf(name)
    return {
      mode: firstSaid(said, 'mode') ?? (max === undefined && !usual.isKnown ? undefined : 'auto'),
      pin: firstSaid(said, 'pin'),
      tokens: firstSaid(said, 'tokens') ?? TOKENS,
      cap: max ?? usual.max,
      loadsByNeed: max === undefined && usual.loadsByNeed,
    }
  }
}

const firstSaid = <Key extends keyof ExposeRules>(
  said: readonly (ExposeRules | undefined)[],
  key: Key,
): ExposeRules[Key] => said.find(one => one?.[key] !== undefined)?.[key]

const fixedChoice = (rules: Rules): Choice | undefined => {
  if (rules.mode === undefined) return chosen(rules, 'direct', 'it is not known to take fewer tools')
  if (rules.mode !== 'auto') return chosen(rules, rules.mode, 'the configuration says so')
  return rules.loadsByNeed ? chosen(rules, 'direct', 'it loads tools by need') : undefined
}

const choiceFor = (rules: Rules, { tools, tokens: estimate }: Amount): Choice => {
  const { cap, tokens: most } = rules
  if (tools > cap) return chosen(rules, 'search', `${tools} tools, and it takes ${cap}`)
  const tokens = Math.ceil(estimate())
  if (tokens > most) return chosen(rules, 'search', `about ${tokens} tokens, and ${most} are allowed`)
  return chosen(rules, 'direct', `${tools} of at most ${cap} tools, about ${tokens} of ${most} tokens`)
}

const chosen = ({ pin = [], cap, loadsByNeed }: Rules, mode: Choice['mode'], why: string): Choice => {
  const max = Math.max(0, cap - OWN_TOOLS)
  const pins = pin.length === 0 ? undefined : { id: JSON.stringify([pin, max]), has: matcherOf(pin), max }
  return { mode, why, pins, loadsByNeed }
}
