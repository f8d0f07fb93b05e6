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

/** Replaces parts of a tool's definition. */
interface ToolOverride {
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Members that replace those of the tool's `annotations`; the others stay. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
}

/** Which tools of a server are exposed, and how; all names are the server's own. */
export interface ToolRules {
  /** Globs; undefined shows all. */
  readonly allow: readonly string[] | undefined
  /** Globs; wins over `allow`. */
  readonly deny: readonly string[]
  readonly rename: Readonly<Record<string, string>>
  readonly override: Readonly<Record<string, ToolOverride>>
}

export interface Exposure {
  /** False exposes tools and prompts under their own names. */
  readonly prefix: boolean
  readonly uris: 'prefix' | 'preserve'
  readonly tools: ToolRules
  /** By which views name the server, and its tools are found. */
  readonly tags: readonly string[]
  /** What stands for tools that say nothing of themselves; see `describedBy`. */
  readonly description?: string | undefined
  /** Undefined if it is there for everybody. */
  readonly access?: Access | undefined
}

export const UNCHANGED: Exposure = {
  prefix: false,
  uris: 'preserve',
  tools: { allow: undefined, deny: [], rename: {}, override: {} },
  tags: [],
}

/** A server's tool rules, compiled. */
export interface ToolFilter {
  /** Whether it lets every tool through. */
  readonly isOpen: boolean
  /** Whether a tool of this name (the server's own) is exposed and may be called. */
  isAllowed(name: string): boolean
  renamed(name: string): string
  overridden(name: string, tool: JsonText): JsonText
}

export const createToolFilter = (rules: ToolRules): ToolFilter => {
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
 * Gives a tool that says nothing of itself a description by a template, in which `{name}`, `{title}`,
 * `{server}` and `{arguments}` stand for its own name and title, the name of its server and those of its
 * arguments.
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
