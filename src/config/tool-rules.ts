import { matcherOf } from '../kernel/globs.js'

/** The rules of a server that hide tools, by the server's own names. */
export interface HidingRules {
  readonly deny: readonly string[]
  /** Undefined to allow all tools. */
  readonly allow?: readonly string[] | undefined
}

/** The reason why a single tool cannot be disabled or enabled, and the fix. */
export interface Obstacle {
  readonly message: string
  readonly fix: string
}

export const isPattern = (text: string): boolean => /[*?[\]{}()!+@|\\]/.test(text)

export const isHidden = ({ deny, allow }: HidingRules, own: string): boolean =>
  matcherOf(deny)(own) || (allow !== undefined && !matcherOf(allow)(own))

/** Returns the rule that hides a tool even without its own name in `deny`. */
export const obstacleToEnable = (
  server: string,
  { deny, allow }: HidingRules,
  own: string,
): Obstacle | undefined => {
  const pattern = deny.find(each => each !== own && matcherOf([each])(own))
  if (pattern !== undefined)
    return {
      message: `the pattern "${pattern}" in tools.deny of ${server} hides ${own}`,
      fix: 'in the configuration, replace the pattern with the names of the tools to hide',
    }
  if (allow === undefined || matcherOf(allow)(own)) return undefined
  return {
    message: `tools.allow of ${server} does not list ${own}`,
    fix: `add "${own}" to tools.allow in the configuration`,
  }
}

/** Returns an obstacle for a name that would hide other tools as well. */
export const obstacleToDisable = (server: string, own: string): Obstacle | undefined =>
  isPattern(own)
    ? {
        message: `${own} is a pattern, not the name of a tool`,
        fix: `write it into "tools": { "deny": [ … ] } of ${server}`,
      }
    : undefined
