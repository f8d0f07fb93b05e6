import type { DefinitionKind } from '../kernel/definitions.js'
import { matcherOf } from '../kernel/globs.js'
import {
  at,
  first,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  rawText,
  textMember,
  textOf,
  withMember,
} from '../kernel/json/text.js'
import type { Access } from '../model/access.js'
import type { ListName } from '../model/listing.js'

/** Replaces parts of a tool's definition. */
interface ToolOverride {
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Replaces these members of the tool's `annotations` and keeps the others. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
}

/** Defines which of a server's tools are exposed, and under which names. All names are the server's own. */
export interface ToolVisibility {
  /** Globs; undefined allows all tools. */
  readonly allow: readonly string[] | undefined
  /** Globs; wins over `allow`. */
  readonly deny: readonly string[]
  readonly rename: Readonly<Record<string, string>>
  readonly override: Readonly<Record<string, ToolOverride>>
}

/** The state of an item that differs from the lock file, and is not only reported. */
export interface ItemLock {
  readonly reason: 'tool-changed' | 'not-locked'
  /** The names of the members that differ. */
  readonly fields: readonly string[]
  /** True if lists leave it out and calls are refused; false if each call needs an approval. */
  readonly isHidden: boolean
  /** The locked definition to show; undefined to show the server's. */
  readonly shown?: JsonText | undefined
  /** The server's definition behind `shown`. */
  readonly sent?: JsonText | undefined
}

/** A difference from the lock file as it is kept, with texts cut and masked. */
export interface KeptDifference {
  readonly kind: DefinitionKind
  /** The server's own name; empty for its instructions. */
  readonly name: string
  readonly change: 'added' | 'removed' | 'changed'
  /** The names of the members that differ. */
  readonly fields: readonly string[]
}

/** A list compared with the lock file. */
export interface ReadLock {
  /** In the order of the list; undefined for items that are shown as they are. */
  readonly states: readonly (ItemLock | undefined)[]
  readonly differences: readonly KeptDifference[]
  /** Reports the differences; removed items only if the list is whole. */
  wasRead(isWhole: boolean): void
  /** Forgets the differences, because no connection has the list any more. */
  released(): void
}

/** PORT. Compares the lists and instructions of a server with the lock file. */
export interface ListLock {
  /** True if calls of items that differ may be refused or asked about. */
  readonly isEnforced: boolean
  /** The number of differences in the lists that connections have, and as many of them as are kept. */
  readonly count: number
  readonly differences: readonly KeptDifference[]
  /** Undefined for a list that is not locked. */
  read(list: ListName, raw: readonly JsonText[]): ReadLock | undefined
  /** Returns the instructions to show instead of these. */
  instructions(text: string | undefined): string | undefined
  /** Reports instructions that differ. */
  met(instructions: string | undefined): void
}

export interface Exposure {
  /** False exposes tools and prompts under their own names. */
  readonly prefix: boolean
  readonly uris: 'prefix' | 'preserve'
  readonly tools: ToolVisibility
  /** Labels for views and for the tool search. */
  readonly tags: readonly string[]
  /** Template for the description of tools that have none; see `describedBy`. */
  readonly description?: string | undefined
  /** Undefined if every caller may use the server. */
  readonly access?: Access | undefined
  /** Undefined if the server is not locked. */
  readonly lock?: ListLock | undefined
}

export const UNCHANGED: Exposure = {
  prefix: false,
  uris: 'preserve',
  tools: { allow: undefined, deny: [], rename: {}, override: {} },
  tags: [],
}

/** A server's tool rules, compiled. */
export interface ToolFilter {
  /** True if no rule hides a tool. */
  readonly isOpen: boolean
  /** Returns whether the tool with this name (the server's own) is exposed and callable. */
  isAllowed(name: string): boolean
  renamed(name: string): string
  overridden(name: string, tool: JsonText): JsonText
}

export const createToolFilter = (rules: ToolVisibility): ToolFilter => {
  const isListed = rules.allow === undefined ? () => true : matcherOf(rules.allow)
  const isDenied = matcherOf(rules.deny)
  const renames = new Map(Object.entries(rules.rename))
  const overrides = new Map(Object.entries(rules.override))
  return {
    isOpen: rules.allow === undefined && rules.deny.length === 0,
    isAllowed: name => isListed(name) && !isDenied(name),
    renamed: name => renames.get(name) ?? name,
    overridden: (name, tool) => {
      const override = overrides.get(name)
      return override === undefined ? tool : withOverride(tool, override)
    },
  }
}

const withOverride = (tool: JsonText, { title, description, annotations }: ToolOverride): JsonText => {
  let shown = tool
  if (title !== undefined) shown = withMember(shown, 'title', textOf(title))
  if (description !== undefined) shown = withMember(shown, 'description', textOf(description))
  if (annotations === undefined) return shown
  const own = memberOf(shown, 'annotations')
  let merged = own !== undefined && kindOf(own) === 'object' ? own : rawText('{}')
  for (const [key, value] of Object.entries(annotations)) merged = withMember(merged, key, textOf(value))
  return withMember(shown, 'annotations', merged)
}

const ARGUMENTS_SHOWN = 20

/**
 * Adds a description to a tool that has none. `{name}`, `{title}`, `{server}` and `{arguments}` in the
 * template are replaced by the tool's name and title, its server's name and the names of its arguments.
 */
export const describedBy = (template: string, tool: JsonText, server: string): JsonText => {
  const said = textMember(tool, 'description')
  if (said !== undefined && said.trim() !== '') return tool
  const name = textMember(tool, 'name') ?? ''
  const properties = at(tool, 'inputSchema', 'properties')
  const args = properties === undefined ? [] : first(ARGUMENTS_SHOWN, membersOf(properties))
  const values: Readonly<Record<string, string>> = {
    name,
    title: textMember(tool, 'title') ?? name,
    server,
    arguments: args.map(({ key }) => key).join(', '),
  }
  const words = template.replace(/\{(name|title|server|arguments)\}/g, (_, key: string) => values[key] ?? '')
  return withMember(tool, 'description', textOf(words))
}
