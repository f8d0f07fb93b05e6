import type { JsonText } from '../../../kernel/json/text.js'
import { isListMethod } from '../../../model/listing.js'
import { projectListResult, projectResult } from './messages.js'

/** Pages of lists are kept by the catalogue and sent to many clients: each is projected once. */
const pages = new WeakMap<JsonText, JsonText>()

/** A result as a modern client may read it; the same reference when nothing had to change. */
export const projectOnce = (method: string, result: JsonText): JsonText => {
  if (!isListMethod(method)) return projectResult(method, result)
  let projected = pages.get(result)
  if (projected === undefined) {
    projected = projectListResult(method, result)
    pages.set(result, projected)
  }
  return projected
}
