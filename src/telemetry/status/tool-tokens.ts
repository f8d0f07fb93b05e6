import { itemsForModels, type Listed } from '../../catalog/listed.js'
import type { JsonText } from '../../kernel/json/text.js'
import { tokensOfTool } from '../../search/tool-cost.js'

/** Estimates how many tokens of a model's context a tool takes. */
export const toolTokens = (tool: JsonText): number => Math.ceil(tokensOfTool(tool))

const known = new WeakMap<Listed, number>()

/** Estimates the tokens of a server's tools. Cached for each list. */
export const tokensOf = (listed: Listed | undefined): number | undefined => {
  if (listed === undefined) return undefined
  const found = known.get(listed)
  if (found !== undefined) return found
  const count = Math.ceil(itemsForModels(listed.items).reduce((sum, { text }) => sum + tokensOfTool(text), 0))
  known.set(listed, count)
  return count
}
