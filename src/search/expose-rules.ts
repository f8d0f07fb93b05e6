import { matcherOf } from '../kernel/globs.js'
import { toolCapOf } from './tool-cost.js'

/** Rules for the exposure of tools; absent members fall back to more general rules. */
interface ExposeRules {
  readonly mode?: 'direct' | 'search' | 'auto' | undefined
  /** Globs of exposed tool names that stay in the list in every mode. */
  readonly pin?: readonly string[] | undefined
  /** Maximum tokens of a list; above it, `auto` means `search`. */
  readonly tokens?: number | undefined
}

interface ClientExpose {
  /** A glob of `clientInfo.name`; the first match with the wanted member counts. */
  readonly name: string
  readonly maxTools: number | undefined
  readonly expose: ExposeRules | undefined
}

/** All exposure rules of a configuration. */
export interface ToolExposureOptions {
  readonly expose: ExposeRules
  readonly views: readonly { readonly name: string; readonly expose: ExposeRules | undefined }[]
  readonly clients: readonly ClientExpose[]
}

/** Size of the list that a client would see. */
export interface Amount {
  readonly tools: number
  readonly tokens: () => number
}

/** The rules for one client. */
export interface ClientExposeRules extends ExposeRules {
  /** Undefined if not configured: then only lists for clients with a known limit are cut. */
  readonly mode: 'direct' | 'search' | 'auto' | undefined
  readonly tokens: number
  readonly cap: number
  readonly loadsByNeed: boolean
}

/** The resulting mode, and its reason for people. */
export interface Shown {
  readonly mode: 'direct' | 'search'
  readonly why: string
}

const TOKENS = 10_000

/** Returns a function that finds the rules for a client's name and view. */
export const rulesOf = ({
  expose,
  views,
  clients,
}: ToolExposureOptions): ((name: string, view: string) => ClientExposeRules) => {
  const all = clients.map(rule => ({ ...rule, matches: matcherOf([rule.name]) }))
  return (name, view) => {
    const fitting = all.filter(({ matches }) => matches(name))
    const given = [
      fitting.find(rule => rule.expose !== undefined)?.expose,
      views.find(one => one.name === view)?.expose,
      expose,
    ]
    const max = fitting.find(({ maxTools }) => maxTools !== undefined)?.maxTools
    const usual = toolCapOf(name)
    return {
      mode: firstGiven(given, 'mode') ?? (max === undefined && !usual.isKnown ? undefined : 'auto'),
      pin: firstGiven(given, 'pin'),
      tokens: firstGiven(given, 'tokens') ?? TOKENS,
      cap: max ?? usual.max,
      loadsByNeed: max === undefined && usual.loadsByNeed,
    }
  }
}

const firstGiven = <Key extends keyof ExposeRules>(
  given: readonly (ExposeRules | undefined)[],
  key: Key,
): ExposeRules[Key] => given.find(one => one?.[key] !== undefined)?.[key]

/** Returns the mode if it does not depend on the number of tools. */
export const shownInAnyCase = (rules: ClientExposeRules): Shown | undefined => {
  if (rules.mode === undefined) return { mode: 'direct', why: 'it has no known limit of tools' }
  if (rules.mode !== 'auto') return { mode: rules.mode, why: 'set in the configuration' }
  return rules.loadsByNeed ? { mode: 'direct', why: 'it loads tools on demand' } : undefined
}

/** Chooses the mode for a list of tools. */
export const shownFor = ({ cap, tokens: most }: ClientExposeRules, { tools, tokens }: Amount): Shown => {
  if (tools > cap) return { mode: 'search', why: `${tools} tools, but it accepts ${cap}` }
  const estimate = Math.ceil(tokens())
  if (estimate > most) return { mode: 'search', why: `about ${estimate} tokens, above the limit of ${most}` }
  return {
    mode: 'direct',
    why: `${tools} of at most ${cap} tools, about ${estimate} of ${most} tokens`,
  }
}
