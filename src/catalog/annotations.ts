import { type JsonText, memberOf, repeatedKey } from '../kernel/json/text.js'

const ANNOTATIONS = new Set(['annotations'])

/** Returns a tool's annotation; undefined if it is missing, or given twice and thus ambiguous. */
export const annotationOf = (tool: JsonText, key: string): JsonText | undefined => {
  const annotations = memberOf(tool, 'annotations')
  const value = annotations && memberOf(annotations, key)
  if (annotations === undefined || value === undefined) return undefined
  const isTwice =
    repeatedKey(tool, ANNOTATIONS) !== undefined || repeatedKey(annotations, new Set([key])) !== undefined
  return isTwice ? undefined : value
}
