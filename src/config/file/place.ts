import { createReport } from './problem.js'
import { readTree } from './syntax.js'
import { createLocator, itemAt, type Spot } from './tree.js'

/** Where the value at a path stands in the text of a configuration file; undefined where it does not. */
export const placeIn = (text: string, ...paths: readonly (readonly string[])[]): Spot | undefined => {
  const locate = createLocator(text)
  const root = readTree(text, createReport('', locate))
  if (root === undefined) return undefined
  for (const path of paths) {
    const item = itemAt(root, path)
    if (item.key === path.join('.')) return locate(item.node.offset)
  }
  return undefined
}
