/** What is said about a tool in place of what its server says. */
export interface ToolOverride {
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
