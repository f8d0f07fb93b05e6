import { isObject } from '../../kernel/object.js'
import type { Json } from '../edit/change.js'

/** Codex's approval setting for all tools of a server; a tool may override it. */
const MODE = 'default_tools_approval_mode'

/** Modes that ask no more often than Codex's default. */
const LAX: ReadonlySet<unknown> = new Set([undefined, 'auto', 'approve'])

const modesOf = (entry: unknown): readonly unknown[] => {
  if (!isObject(entry)) return []
  const { tools } = entry
  const own = isObject(tools) ? Object.values(tools) : []
  return [entry[MODE], ...own.map(tool => (isObject(tool) ? tool['approval_mode'] : undefined))]
}

/**
 * Gives our entry the strictest approval mode of the entries that it replaces, so that no tool needs less
 * approval than before. Approvals of other clients (`autoApprove`, `alwaysAllow`, `trust`) are dropped: they
 * only allow more, and the client asks again.
 */
export const withApprovals = (
  entry: Readonly<Record<string, Json>>,
  replaced: readonly unknown[],
): Readonly<Record<string, Json>> =>
  replaced.flatMap(modesOf).every(mode => LAX.has(mode)) ? entry : { ...entry, [MODE]: 'prompt' }
