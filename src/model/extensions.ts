import { canonicalJson } from '../kernel/json/canonical.js'
import {
  EMPTY,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  objectText,
  rawText,
  withMembers,
  withoutMember,
} from '../kernel/json/text.js'
import type { Revision } from './revision.js'
import type { ServerRequestMode } from './server-request-mode.js'

/** Extensions by id, each with its settings object as the peer wrote it (SEP-2133). */
export type Extensions = ReadonlyMap<string, JsonText>

/** The rules of one extension that the proxy knows. The next extension is one more row. */
interface ExtensionRow {
  /**
   * `hop`: concerns adjacent peers only, and is never passed on. `carried`: passed on between any client and
   * the servers that it sees. All others are passed on only by a proxy with a single, unchanged server.
   */
  readonly kind: 'hop' | 'carried'
  /** The mode of the only peers that may see it; undefined: all. */
  readonly mode?: ServerRequestMode
  /** Settings that are true for all servers together if they are true for one of them. */
  readonly flags?: readonly string[]
  /** The kind of items that it is about: clients that must not see those cannot use it. */
  readonly about?: 'resources'
  /** False if the proxy announces it without the settings of its servers. */
  readonly hasSettings?: boolean
}

const PREFIX = 'io.modelcontextprotocol/'

/** The interfaces of tools, which hosts show as apps (ext-apps, SEP-1865). */
export const UI = `${PREFIX}ui`
/** Skills, whose files are resources (ext-skills, SEP-2640). */
export const SKILLS = `${PREFIX}skills`
/** The tasks of 2026-07-28 (SEP-2663). */
export const TASKS_EXTENSION = `${PREFIX}tasks`

const TRUE = rawText('true')

const ROWS: ReadonlyMap<string, ExtensionRow> = new Map<string, ExtensionRow>([
  [`${PREFIX}oauth-client-credentials`, { kind: 'hop' }],
  [`${PREFIX}enterprise-managed-authorization`, { kind: 'hop' }],
  [UI, { kind: 'carried' }],
  [SKILLS, { kind: 'carried', flags: ['directoryRead'], about: 'resources' }],
  [TASKS_EXTENSION, { kind: 'carried', mode: 'returned', hasSettings: false }],
])

/** Returns whether peers of a mode may see an extension that reaches them through the proxy. */
export const mayPass = (id: string, mode: ServerRequestMode): boolean => {
  const row = ROWS.get(id)
  return row?.kind !== 'hop' && (row?.mode ?? mode) === mode
}

/** Returns whether an extension crosses a proxy with several servers. */
const isCarried = (id: string): boolean => ROWS.get(id)?.kind === 'carried'

/**
 * Reads the member `extensions` of capabilities, which every revision may have (SEP-2133). Some peers write
 * `true` for an empty object; other values that are not objects are dropped.
 */
export const readExtensions = (capabilities: JsonText): Extensions => {
  const found = memberOf(capabilities, 'extensions')
  if (found === undefined || kindOf(found) !== 'object') return NONE
  return new Map(
    [...membersOf(found)].flatMap(({ key, value }): (readonly [string, JsonText])[] => {
      if (value.equals(TRUE)) return [[key, EMPTY]]
      return kindOf(value) === 'object' ? [[key, value]] : []
    }),
  )
}

const NONE: Extensions = new Map()

/** Joins the extensions that servers announce, for a client that sees all of these servers. */
export const joinExtensions = (announced: readonly Extensions[], mode: ServerRequestMode): Extensions => {
  const ids = new Set(announced.flatMap(each => [...each.keys()]))
  return new Map(
    [...ids].filter(id => isCarried(id) && mayPass(id, mode)).map(id => [id, settingsOf(id, announced)]),
  )
}

const settingsOf = (id: string, announced: readonly Extensions[]): JsonText => {
  const { hasSettings = true, flags = [] } = ROWS.get(id) ?? {}
  const settings = announced.flatMap(each => each.get(id) ?? [])
  return hasSettings ? mergeSettings(settings, flags) : EMPTY
}

/** Returns the settings that all servers agree on, otherwise `{}`, with the flags that any of them sets. */
const mergeSettings = (settings: readonly JsonText[], flags: readonly string[]): JsonText => {
  const agreed = agreedOn(settings)
  if (agreed !== undefined || flags.length === 0) return agreed ?? EMPTY
  const rest = agreedOn(settings.map(one => withoutMember(one, ...flags))) ?? EMPTY
  const set = flags.filter(flag => settings.some(one => hasFlag(one, flag)))
  return withMembers(
    rest,
    set.map(flag => [flag, TRUE] as const),
  )
}

/** Returns the first of several texts if all are equal as JSON values. */
const agreedOn = ([first = EMPTY, ...others]: readonly JsonText[]): JsonText | undefined => {
  const text = canonicalJson(first)
  return others.every(other => canonicalJson(other) === text) ? first : undefined
}

const hasFlag = (settings: JsonText, flag: string): boolean => memberOf(settings, flag)?.equals(TRUE) === true

/** An extension that a method needs, and a setting of it that must be `true`. */
export interface ExtensionNeed {
  readonly extension: string
  readonly flag?: string
}

/** Returns whether announced extensions have what a method needs. */
export const meetsNeed = (announced: Extensions | undefined, { extension, flag }: ExtensionNeed): boolean => {
  const settings = announced?.get(extension)
  return settings !== undefined && (flag === undefined || hasFlag(settings, flag))
}

/** Returns the announced extensions that are of use without a kind of items. */
export const extensionsWithout = (announced: Extensions, items: 'resources'): Extensions =>
  new Map([...announced].filter(([id]) => ROWS.get(id)?.about !== items))

/** Reads a server's skills from its `ServerCapabilities`; undefined if it has none. */
export const skillsIn = (capabilities: JsonText): { readonly directoryRead: boolean } | undefined => {
  const settings = readExtensions(capabilities).get(SKILLS)
  return settings && { directoryRead: hasFlag(settings, 'directoryRead') }
}

export const encodeExtensions = (extensions: Extensions): JsonText => objectText([...extensions])

/** A client's capabilities that the proxy passes on without understanding them. */
export interface Declaration {
  readonly extensions: Extensions
  readonly experimental: JsonText | undefined
  /** Further members, which only peers of the client's `revision` may receive. */
  readonly others: readonly (readonly [key: string, value: JsonText])[]
  readonly revision: Revision
  /** Declared extensions and experimental capabilities that the server is not told of. */
  readonly withheld: readonly string[]
}

/**
 * Returns the part of a declaration for a server of a mode: everything if the server `isAlone`, otherwise the
 * extensions that cross a proxy with several servers.
 */
export const narrowDeclaration = (
  declared: Declaration,
  isAlone: boolean,
  mode: ServerRequestMode,
): Declaration => {
  const passes = (id: string): boolean => mayPass(id, mode) && (isAlone || isCarried(id))
  const { extensions, experimental, others, revision } = declared
  const names =
    isAlone || experimental === undefined ? [] : [...membersOf(experimental)].map(({ key }) => key)
  return {
    extensions: new Map([...extensions].filter(([id]) => passes(id))),
    experimental: isAlone ? experimental : undefined,
    others: isAlone ? others : [],
    revision,
    withheld: [...[...extensions.keys()].filter(id => !isAlone && !isCarried(id)), ...names],
  }
}

/** Maximum size of the settings in a joined declaration, as of one client's. */
const JOINED_BYTES = 64 * 1024

/** Joins the declarations of clients that share a request. The first settings of an extension count. */
export const joinDeclarations = (all: readonly Declaration[]): Declaration | undefined => {
  const [first, ...others] = all
  if (first === undefined || others.length === 0) return first
  const extensions = new Map<string, JsonText>()
  let bytes = 0
  for (const [id, settings] of all.flatMap(each => [...each.extensions])) {
    const added = id.length + settings.length
    if (extensions.has(id) || bytes + added > JOINED_BYTES) continue
    extensions.set(id, settings)
    bytes += added
  }
  return { ...first, extensions, withheld: [] }
}

/** Returns the members that a declaration adds to the `ClientCapabilities` for a server of a revision. */
export const declaredMembers = (
  { extensions, experimental, others, revision }: Declaration,
  to: Revision,
): readonly (readonly [key: string, value: JsonText])[] => [
  ...(experimental === undefined ? [] : [['experimental', experimental] as const]),
  ...(revision === to ? others : []),
  ...(extensions.size === 0 ? [] : [['extensions', encodeExtensions(extensions)] as const]),
]

/** Returns a text that is equal for equal declarations; empty for an empty one. */
export const keyOfDeclaration = (declared: Declaration): string => {
  const members = declaredMembers(declared, declared.revision)
  if (members.length === 0) return ''
  const revision = declared.others.length === 0 ? '' : declared.revision
  return `${revision}${canonicalJson(objectText(members))}`
}
