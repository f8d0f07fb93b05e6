import { createReport } from './problem.js'
import { readTree } from './syntax.js'
import { createLocator, itemAt, members, type Spot } from './tree.js'

/** Returns the position of the first of these paths that exists in the text of a configuration file. */
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

/** Returns the position of each member of an object at the top of a configuration file, by name. */
export const memberPlaces = (text: string, object: string): ReadonlyMap<string, Spot> => {
  const locate = createLocator(text)
  const root = readTree(text, createReport('', locate))
  const found = members(root && members(root).get(object))
  return new Map([...found].map(([name, { nameOffset }]) => [name, locate(nameOffset)]))
}
