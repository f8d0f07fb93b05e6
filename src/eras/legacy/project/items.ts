import { editMember } from '../../../kernel/json/edit.js'
import {
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  withAt,
  withoutMember,
} from '../../../kernel/json/text.js'
import type { ListName } from '../../../model/listing.js'
import type { LegacyRevision } from '../../../model/revision.js'
import { projectAnnotations, projectInnerMeta } from './meta.js'
import { projectOutputSchema, withObjectProperties } from './schemas.js'

type Strips = Readonly<Record<LegacyRevision, readonly string[]>>

/** Members that a revision's `Tool` lacks. `execution` goes everywhere: tasks are not offered to clients. */
const TOOL_STRIPS: Strips = {
  '2024-11-05': ['title', 'annotations', 'outputSchema', 'icons', 'execution'],
  '2025-03-26': ['title', 'outputSchema', 'icons', 'execution'],
  '2025-06-18': ['icons', 'execution'],
  '2025-11-25': ['execution'],
}

/** Members that a revision's `Prompt`, `Resource` and `ResourceTemplate` lack. */
const STRIPS: Strips = {
  '2024-11-05': ['title', 'icons'],
  '2025-03-26': ['title', 'icons'],
  '2025-06-18': ['icons'],
  '2025-11-25': [],
}

/** An item of a list for a client of `revision`; the same reference if it knows all that is in it. */
export const projectItem = (revision: LegacyRevision, list: ListName, item: JsonText): JsonText => {
  if (kindOf(item) !== 'object') return item
  const inner = projectInnerMeta(revision, item)
  if (list === 'tools') return projectTool(revision, inner)
  const strips = STRIPS[revision]
  const known = strips.length === 0 ? inner : withoutMember(inner, ...strips)
  return list === 'prompts' ? projectPrompt(revision, known) : projectAnnotations(revision, known)
}

/** `PromptArgument.title` exists since 2025-06-18. */
const projectPrompt = (revision: LegacyRevision, prompt: JsonText): JsonText =>
  revision < '2025-06-18'
    ? editMember(prompt, 'arguments', list => mapElements(list, argument => withoutMember(argument, 'title')))
    : prompt

const projectTool = (revision: LegacyRevision, tool: JsonText): JsonText => {
  const titled = revision === '2025-03-26' ? withTitleHint(tool) : tool
  const known = withoutMember(titled, ...TOOL_STRIPS[revision])
  const input = editMember(known, 'inputSchema', withObjectProperties)
  return editMember(input, 'outputSchema', projectOutputSchema)
}

/** 2025-03-26 has the display name among the annotations only. */
const withTitleHint = (tool: JsonText): JsonText => {
  const title = memberOf(tool, 'title')
  const annotations = memberOf(tool, 'annotations')
  const isThere = annotations !== undefined && memberOf(annotations, 'title') !== undefined
  return title === undefined || isThere ? tool : withAt(tool, ['annotations', 'title'], title)
}
