import { isObject } from '../../kernel/object.js'
import type { Json } from '../edit/change.js'

/** Codex's setting for all tools of a server; a tool may have one of its own. */
const MODE = 'default_tools_approval_mode'

/** Modes that ask no more often than Codex does without a setting. */
const LAX: ReadonlySet<unknown> = new Set([undefined, 'auto', 'approve'])

const modesOf = (entry: unknown): readonly unknown[] => {
  if (!isObject(entry)) return []
  const { tools } = entry
  const own = isObject(tools) ? Object.values(tools) : []
  return [entry[MODE], ...own.map(tool => (isObject(tool) ? tool['approval_mode'] : undefined))]
}

/**
 * Our entry with the strictest approval mode of the entries that it replaces: no tool needs less approval
 * than before. Approvals that other clients keep (`autoApprove`, `alwaysAllow`, `trust`) only allow more, so
 * without them the client asks again.
 */
export const withApprovals = (
  entry: Readonly<Record<string, Json>>,
  replaced: readonly unknown[],
): Readonly<Record<string, Json>> =>
  replaced.flatMap(modesOf).every(mode => LAX.has(mode)) ? entry : { ...entry, [MODE]: 'prompt' }
