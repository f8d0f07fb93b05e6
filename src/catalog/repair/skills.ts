import {
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  some,
  stringOf,
  textMember,
} from '../../kernel/json/text.js'

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
  return some(elementsOf(resources), one => !isFile(one))
    ? 'one of its resources lacks a uri, a digest or a size'
    : undefined
}

const isFile = (file: JsonText): boolean => {
  if (kindOf(file) !== 'object') return false
  const size = memberOf(file, 'size')
  const bytes = size !== undefined && kindOf(size) === 'number' ? Number(size.toString('latin1')) : -1
  const isSized = Number.isSafeInteger(bytes) && bytes >= 0
  return isSized && textMember(file, 'uri') !== undefined && textMember(file, 'digest') !== undefined
}
