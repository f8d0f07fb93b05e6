import { showHidden } from './hidden-text.js'
import { JsonLimitError, JsonTextError, readJson, stringOf, textOf } from './json/text.js'
import { type JsonTree, objectTree, type treeMembers, treeOf, treeText } from './json/tree.js'

/** The lists of a server whose items are locked. Resources are data. */
export const LOCKED_LISTS = ['tools', 'prompts', 'templates'] as const

export type LockedList = (typeof LOCKED_LISTS)[number]

/** The locked definitions of a server. */
export interface LockedServer extends Readonly<Record<LockedList, LockedItems>> {
  readonly instructions: string | undefined
}

/** The variants of each item, by its own name or URI template; an item may equal any of them. */
type LockedItems = ReadonlyMap<string, readonly JsonTree[]>

export type LockedServers = ReadonlyMap<string, LockedServer>

export const LOCK_FILE_BYTES = 16 * 1024 * 1024
/** Maximum nesting, and total of members and elements, each of which takes some hundred bytes of memory. */
const LIMITS = { depth: 512, members: 1_000_000 }
const VERSION = '1'
const VARIANTS_MAX = 8

export const NOTHING_LOCKED: LockedServer = {
  ...{ instructions: undefined, tools: new Map(), prompts: new Map(), templates: new Map() },
}

/** Returns the content of a lock file, or the reason why it cannot be used. */
export const parseLockFile = (text: string): LockedServers | { readonly why: string } => {
  try {
    return serversIn(treeOf(readJson(Buffer.from(text), LIMITS)))
  } catch (thrown) {
    if (thrown instanceof LockFileError) return { why: thrown.message }
    if (thrown instanceof JsonLimitError) return { why: 'it is nested too deeply, or has too many values' }
    if (thrown instanceof JsonTextError) return { why: 'it is not JSON' }
    throw thrown
  }
}

/** Writes a lock file: members in order, two spaces, and hidden characters as `\uXXXX`. */
export const lockFileText = (servers: LockedServers): string => {
  const all = [...servers].map(([name, server]) => [name, serverTree(server)] as const)
  const file = objectTree([
    ['version', VERSION],
    ['servers', objectTree(all)],
  ])
  return `${showHidden(treeText(file, ''))}\n`
}

class LockFileError extends Error {}

const serversIn = (file: JsonTree): LockedServers => {
  const { version, servers } = Object.fromEntries(membersIn(file, 'it'))
  if (version !== VERSION) throw new LockFileError('it has no "version": 1')
  if (servers === undefined) throw new LockFileError('it has no "servers"')
  return new Map(
    membersIn(servers, '/servers').map(([name, server]) => [name, serverIn(server, `/servers/${name}`)]),
  )
}

const serverIn = (server: JsonTree, place: string): LockedServer => {
  const found = new Map(membersIn(server, place))
  const items = (list: LockedList): LockedItems => {
    const tree = found.get(list)
    const at = `${place}/${list}`
    return new Map(
      (tree === undefined ? [] : membersIn(tree, at)).map(([own, item]) => [
        own,
        variantsIn(item, `${at}/${own}`),
      ]),
    )
  }
  const instructions = found.get('instructions')
  const text = instructions === undefined ? undefined : textIn(instructions)
  if (instructions !== undefined && text === undefined)
    throw new LockFileError(`${place}/instructions is not a text`)
  return {
    instructions: text,
    tools: items('tools'),
    prompts: items('prompts'),
    templates: items('templates'),
  }
}

/** Members that are repeated, as after a bad merge, would hide one another. */
const membersIn = (tree: JsonTree, place: string): ReturnType<typeof treeMembers> => {
  if (typeof tree === 'string' || 'elements' in tree) throw new LockFileError(`${place} is not an object`)
  const repeated = tree.members.find(([key], at) => tree.members[at + 1]?.[0] === key)
  if (repeated !== undefined)
    throw new LockFileError(`${place} has two members ${JSON.stringify(repeated[0])}`)
  return tree.members
}

const variantsIn = (item: JsonTree, place: string): readonly JsonTree[] => {
  if (typeof item === 'string') throw new LockFileError(`${place} is not a definition`)
  if ('members' in item) return [item]
  const { elements } = item
  const isFine = elements.length > 0 && elements.length <= VARIANTS_MAX
  if (!isFine || elements.some(each => typeof each === 'string' || 'elements' in each))
    throw new LockFileError(`${place} is not a list of 1 to ${VARIANTS_MAX} definitions`)
  return elements
}

const textIn = (tree: JsonTree): string | undefined =>
  typeof tree === 'string' && tree.startsWith('"') ? stringOf(readJson(Buffer.from(tree))) : undefined

const serverTree = (server: LockedServer): JsonTree =>
  objectTree([
    ...(server.instructions === undefined
      ? []
      : [['instructions', treeOf(textOf(server.instructions))] as const]),
    ...LOCKED_LISTS.flatMap(list => {
      const items = [...server[list]].map(
        ([own, variants]) =>
          [
            own,
            variants.length === 1 && variants[0] !== undefined ? variants[0] : { elements: variants },
          ] as const,
      )
      return items.length === 0 ? [] : [[list, objectTree(items)] as const]
    }),
  ])
