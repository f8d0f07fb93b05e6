import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const SKIPPED =
  /(?:^|\/)(?:node_modules|dist|fixtures|vectors\/vectors)$|\.generated\.|^bin\/(?:connect|parts)\.cjs/

/** Word lists, names of keys, and programs in other languages. */
const DATA =
  /^src\/(?:search\/(?:common-words|words|stem)|cluster\/engine\/scripts|setup\/import\/normalise)\.ts$/

export const isCode = path => /\.[mc]?[jt]sx?$/.test(path)

/** Reports whether the strings of a file are texts for users. */
export const hasMessages = path => /^src\/.*\.tsx?$/.test(path) && !DATA.test(path)

/** Returns the files below a path in order, relative to the root, with `/`. */
export const filesBelow = (root, path) => {
  const stat = statSync(join(root, path), { throwIfNoEntry: false })
  if (stat === undefined || SKIPPED.test(path)) return []
  if (!stat.isDirectory()) return [path]
  return readdirSync(join(root, path))
    .sort()
    .flatMap(name => filesBelow(root, `${path}/${name}`))
}
