import { editMember, mayContain } from '../../../kernel/json/edit.js'
import {
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  stringOf,
  withoutMember,
} from '../../../kernel/json/text.js'
import { shownJson, textBlock, withReadableContent } from '../../../model/content.js'
import { LISTS, listOfMethod } from '../../../model/listing.js'
import { paramHeadersOf } from '../param-headers.js'
import { readResultType } from '../result-type.js'
import { projectModernMeta } from './meta.js'

/** Content blocks of tool results and prompts (schema, `ContentBlock`). */
const BLOCKS: ReadonlySet<string | undefined> = new Set([
  'text',
  'image',
  'audio',
  'resource',
  'resource_link',
])

const projectBlock = (block: JsonText): JsonText =>
  BLOCKS.has(stringOf(memberOf(block, 'type'))) ? projectModernMeta(block) : textBlock(shownJson(block))

/**
 * Drops `execution`, because tasks are an extension now, and invalid header annotations, for which HTTP
 * clients reject the tool (server/tools, "x-mcp-header").
 */
const projectTool = (tool: JsonText): JsonText =>
  editMember(
    projectModernMeta(withoutMember(tool, 'execution')),
    'inputSchema',
    schema => paramHeadersOf(schema).schema,
  )

/**
 * Projects a result for a modern client; returns the same reference if it is fully supported.
 *
 * @internal
 */
export const projectModernResult = (method: string, result: JsonText): JsonText => {
  const known = projectModernMeta(result)
  const list = listOfMethod(method)
  // Skills have the same form in all revisions.
  if (list === 'skills') return known
  if (list !== undefined) {
    const project = list === 'tools' ? projectTool : projectModernMeta
    return editMember(known, LISTS[list].member, items => mapElements(items, project))
  }
  switch (method) {
    case 'tools/call':
      return projectToolResult(known)
    case 'tasks/get':
      return projectModernTask(known)
    case 'prompts/get':
      return editMember(known, 'messages', messages => mapElements(messages, projectMessage))
    case 'resources/read':
      return editMember(known, 'contents', contents => mapElements(contents, projectModernMeta))
    case 'resources/directory/read':
      return editMember(known, 'resources', entries => mapElements(entries, projectModernMeta))
    default:
      return known
  }
}

const projectToolResult = (result: JsonText): JsonText => {
  const type = readResultType(result)
  if (type !== 'complete' && type !== 'absent') return result
  return withReadableContent(editMember(result, 'content', blocks => mapElements(blocks, projectBlock)))
}

/** Projects the state of a task, which holds the result of its tool. */
export const projectModernTask = (state: JsonText): JsonText =>
  editMember(projectModernMeta(state), 'result', result =>
    kindOf(result) === 'object' ? projectToolResult(projectModernMeta(result)) : result,
  )

/** The content of a message is one block; some servers send an array. */
const projectMessage = (message: JsonText): JsonText =>
  editMember(message, 'content', content =>
    kindOf(content) === 'array' ? mapElements(content, projectBlock) : projectBlock(content),
  )

/** Projects params for a modern server, without the `task` of 2025-11-25. */
export const projectModernRequest = (params: JsonText | undefined): JsonText | undefined =>
  params !== undefined && kindOf(params) === 'object' && mayContain(params, '"task"')
    ? withoutMember(params, 'task')
    : params

/** Projected pages of lists, which the catalog keeps for many clients. */
const pages = new WeakMap<JsonText, JsonText>()

/** Projects like `projectResult`, but only once for each page of a list. */
export const projectModernOnce = (method: string, result: JsonText): JsonText => {
  if (listOfMethod(method) === undefined) return projectModernResult(method, result)
  let projected = pages.get(result)
  if (projected === undefined) {
    projected = projectModernResult(method, result)
    pages.set(result, projected)
  }
  return projected
}
