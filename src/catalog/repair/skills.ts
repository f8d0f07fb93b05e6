import { JsonCursor } from '../../kernel/json/cursor.js'
import { OPEN_ARRAY, OPEN_OBJECT } from '../../kernel/json/scan.js'
import { type JsonText, kindOf, stringOf, textMember } from '../../kernel/json/text.js'

/** The file that a skill's URI names (ext-skills, SEP-2640). */
const MANIFEST = 'SKILL.md'

/**
 * Returns the reason for which clients would reject a listed skill, and with it the whole list. The contents
 * of a skill are not read, since its digests cover them.
 */
export const skillProblem = (members: ReadonlyMap<string, JsonText>): string | undefined => {
  const uri = stringOf(members.get('uri')) ?? ''
  const frontmatter = members.get('frontmatter')
  const resources = members.get('resources')
  if (!URL.canParse(uri)) return 'its uri is not a URI'
  if (frontmatter === undefined || kindOf(frontmatter) !== 'object') return 'its frontmatter is not an object'
  const name = textMember(frontmatter, 'name')
  if (name === undefined) return 'the name in its frontmatter is not a string'
  const [folder, file] = uri.split('/').slice(-2)
  if (file !== MANIFEST || folder !== name || name === '')
    return `its uri does not end in /<name>/${MANIFEST}`
  if (textMember(frontmatter, 'description') === undefined)
    return 'the description in its frontmatter is not a string'
  return resources === undefined ? 'it has no resources' : resourcesProblem(resources)
}

const resourcesProblem = (resources: JsonText): string | undefined => {
  if (stringOf(resources) === 'dynamic') return undefined
  if (kindOf(resources) !== 'array') return 'its resources are neither a list nor "dynamic"'
  const file = new JsonCursor(resources, OPEN_ARRAY)
  while (file.next())
    if (!isFile(resources, file.valueStart)) return 'one of its resources lacks a uri, a digest or a size'
  return undefined
}

/** Checks the object at `start` in one walk: a skill may have many files. */
const isFile = (files: JsonText, start: number): boolean => {
  const has = { uri: false, digest: false, size: false }
  const at = new JsonCursor(files, OPEN_OBJECT, start)
  while (at.next()) {
    if (at.keyIs('uri')) has.uri = at.kind === 'string'
    else if (at.keyIs('digest')) has.digest = at.kind === 'string'
    else if (at.keyIs('size')) has.size = isSizeAt(files, at)
  }
  return has.uri && has.digest && has.size
}

const isSizeAt = (files: JsonText, { kind, valueStart, end }: JsonCursor): boolean => {
  const bytes = kind === 'number' ? Number(files.toString('latin1', valueStart, end)) : -1
  return Number.isSafeInteger(bytes) && bytes >= 0
}
