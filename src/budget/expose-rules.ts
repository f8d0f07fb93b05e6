import { matcherOf } from '../kernel/globs.js'
import { toolCapOf } from './tool-cost.js'

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

/** All that a configuration says of how tools are shown. */
export interface ExposingOptions {
  readonly expose: ExposeRules
  readonly views: readonly { readonly name: string; readonly expose: ExposeRules | undefined }[]
  readonly clients: readonly ClientExpose[]
}

/** What a client would be shown. */
export interface Amount {
  readonly tools: number
  readonly tokens: () => number
}

/** What holds for one client. */
export interface ClientRules extends ExposeRules {
  /** If nothing is said, a list is cut for those alone who are known to cut it. */
  readonly mode: 'direct' | 'search' | 'auto' | undefined
  readonly tokens: number
  readonly cap: number
  readonly loadsByNeed: boolean
}

/** How tools are shown, and why, for people. */
export interface Shown {
  readonly mode: 'direct' | 'search'
  readonly why: string
}

const TOKENS = 10_000

/** Finds what holds for clients, by what they call themselves and the name of their view. */
export const rulesOf = ({
  expose,
  views,
  clients,
}: ExposingOptions): ((name: string, view: string) => ClientRules) => {
  const all = clients.map(rule => ({ ...rule, matches: matcherOf([rule.name]) }))
  return (name, view) => {
    const fitting = all.filter(({ matches }) => matches(name))
    const said = [
      fitting.find(rule => rule.expose !== undefined)?.expose,
      views.find(one => one.name === view)?.expose,
      expose,
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

/** What is certain whatever there is to be shown. */
export const shownInAnyCase = (rules: ClientRules): Shown | undefined => {
  if (rules.mode === undefined) return { mode: 'direct', why: 'it is not known to take fewer tools' }
  if (rules.mode !== 'auto') return { mode: rules.mode, why: 'the configuration says so' }
  return rules.loadsByNeed ? { mode: 'direct', why: 'it loads tools by need' } : undefined
}

/** What suits a client to which it is left. */
export const shownFor = ({ cap, tokens: most }: ClientRules, { tools, tokens }: Amount): Shown => {
  if (tools > cap) return { mode: 'search', why: `${tools} tools, and it takes ${cap}` }
  const estimate = Math.ceil(tokens())
  if (estimate > most) return { mode: 'search', why: `about ${estimate} tokens, and ${most} are allowed` }
  return {
    mode: 'direct',
    why: `${tools} of at most ${cap} tools, about ${estimate} of ${most} tokens`,
  }
}
