import { matcherOf } from '../../kernel/globs.js'
import { isObject } from '../../kernel/object.js'
import type { ImportedEntry } from './normalise.js'

const listOf = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.map(String) : undefined

/** Returns the tools that both lists allow; a missing list allows all. */
const shared = (
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): readonly string[] | undefined => {
  if (one === undefined || other === undefined) return one ?? other
  return [...new Set([...one.filter(matcherOf(other)), ...other.filter(matcherOf(one))])]
}

const rulesOf = ({ tools }: ImportedEntry) => {
  const { allow, deny } = isObject(tools) ? tools : {}
  return { allow: listOf(allow), deny: listOf(deny) ?? [] }
}

/**
 * Merges the tool rules of another entry for the same server, so that only tools that both allow remain.
 * Returns the same object if nothing changes.
 */
export const restricted = (entry: ImportedEntry, other: ImportedEntry): ImportedEntry => {
  const own = rulesOf(entry)
  const more = rulesOf(other)
  const allow = shared(own.allow, more.allow)
  const denied = more.deny.filter(name => !own.deny.includes(name))
  if (denied.length === 0 && allow?.length === own.allow?.length) return entry
  const { tools } = entry
  return {
    ...entry,
    tools: {
      ...(isObject(tools) ? tools : {}),
      ...(allow === undefined ? {} : { allow }),
      ...(denied.length === 0 ? {} : { deny: [...own.deny, ...denied] }),
    },
  }
}

/** Returns whether an entry's rules exclude every tool. */
export const allowsNothing = (entry: ImportedEntry): boolean => rulesOf(entry).allow?.length === 0
