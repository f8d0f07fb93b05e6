import picomatch from 'picomatch'
import { type JsonText, kindOf, memberOf, rawText, textOf, withMember } from '../kernel/json/text.js'

/** What is said about a tool in place of what its server says. */
interface ToolOverride {
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Members that replace those of the tool's `annotations`; the others stay. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
}

/** Which tools of a server are shown, and how; all names are the server's own. */
export interface ToolRules {
  /** Globs; undefined shows all. */
  readonly allow: readonly string[] | undefined
  /** Globs; wins over `allow`. */
  readonly deny: readonly string[]
  readonly rename: Readonly<Record<string, string>>
  readonly override: Readonly<Record<string, ToolOverride>>
}

/** How one server's items are shown to clients. */
export interface Showing {
  /** False shows tools and prompts under their own names. */
  readonly prefix: boolean
  readonly uris: 'prefix' | 'preserve'
  readonly tools: ToolRules
}

/** How everything of a server that stands alone is shown: as it is. */
export const AS_IT_IS: Showing = {
  prefix: false,
  uris: 'preserve',
  tools: { allow: undefined, deny: [], rename: {}, override: {} },
}

/** A server's tool rules, ready to be asked. */
export interface ToolFilter {
  /** Whether a tool of this name (the server's own) is shown and may be called. */
  isAllowed(name: string): boolean
  /** Our name for it, before the prefix. */
  renamed(name: string): string
  /** Its definition with what the operator says in place of what the server says. */
  overridden(name: string, tool: JsonText): JsonText
}

/** Compiles the rules once. */
export const createToolFilter = (rules: ToolRules): ToolFilter => {
  const isListed = rules.allow === undefined ? () => true : matcherOf(rules.allow)
  const isDenied = matcherOf(rules.deny)
  const renames = new Map(Object.entries(rules.rename))
  const overrides = new Map(Object.entries(rules.override))
  return {
    isAllowed: name => isListed(name) && !isDenied(name),
    renamed: name => renames.get(name) ?? name,
    overridden: (name, tool) => {
      const override = overrides.get(name)
      return override === undefined ? tool : withOverride(tool, override)
    },
  }
}

/**
 * Tool names are no paths: `*` matches every character, a dot in front and slashes too, because a rule that hides tools
 * must hide them all. A name always matches itself, whatever its characters mean in a glob.
 */
const matcherOf = (globs: readonly string[]): ((name: string) => boolean) => {
  if (globs.length === 0) return () => false
  const names = new Set(globs)
  const matches = picomatch([...globs], { dot: true, bash: true, windows: false })
  return name => names.has(name) || matches(name)
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
