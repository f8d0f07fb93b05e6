import { type HidingRules, type Obstacle, obstacleToDisable, obstacleToEnable } from '../config/tool-rules.js'
import { matcherOf } from '../kernel/globs.js'
import { isObject } from '../kernel/object.js'
import type { FileChange } from './edit/change.js'
import type { ImportedEntry } from './import/normalise.js'

/** A tool, by the server's own name. */
export interface NamedTool {
  readonly server: string
  readonly own: string
}

/**
 * Returns the change of a server's entry that disables or enables a tool, undefined if there is nothing to
 * change, or the obstacle.
 */
export const toolSwitched = (
  { server, own }: NamedTool,
  entry: ImportedEntry,
  isEnabled: boolean,
): FileChange | Obstacle | undefined => {
  const { path, rules } = rulesOf(entry)
  const { deny } = rules
  const at = [server, ...path]
  if (isEnabled) {
    const others = deny.filter(each => each !== own)
    const isListed = others.length < deny.length
    return (
      obstacleToEnable(server, rules, own) ?? (isListed ? { at, name: 'deny', value: others } : undefined)
    )
  }
  if (matcherOf(deny)(own)) return undefined
  return obstacleToDisable(server, own) ?? { at, name: 'deny', value: [...deny, own] }
}

/** Returns the place of an entry's tool rules, and the rules; `x-mcp-proxy` takes precedence. */
const rulesOf = (entry: ImportedEntry): { readonly path: readonly string[]; readonly rules: HidingRules } => {
  const inner = entry['x-mcp-proxy']
  const isInner = isObject(inner) && 'tools' in inner
  const written = isInner ? inner['tools'] : entry['tools']
  const { deny, allow } = isObject(written) ? written : {}
  return {
    path: isInner ? ['x-mcp-proxy', 'tools'] : ['tools'],
    rules: { deny: textsIn(deny), allow: Array.isArray(allow) ? textsIn(allow) : undefined },
  }
}

const textsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
