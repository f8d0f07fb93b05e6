/** A key of a client's file that decides which servers start. */
interface Switch {
  /** Path of the list of names. */
  readonly path: readonly string[]
  /** True if the list names the servers that are off; otherwise all others are off. */
  readonly isOff: boolean
}

const SWITCHES: readonly Switch[] = [
  { path: ['mcp', 'excluded'], isOff: true },
  { path: ['mcp', 'allowed'], isOff: false },
  // Gemini CLI before 0.3, and Qwen Code.
  { path: ['excludeMCPServers'], isOff: true },
  { path: ['allowMCPServers'], isOff: false },
  { path: ['disabledMcpServers'], isOff: true },
  { path: ['disabled_mcp_servers'], isOff: true },
]

/** Keys at the top of a file that hold such lists. */
export const SWITCH_KEYS: readonly string[] = SWITCHES.map(({ path: [key = ''] }) => key)

const listAt = (root: unknown, path: readonly string[]): unknown =>
  path.reduce(
    (outer, step) =>
      typeof outer === 'object' && outer !== null
        ? (outer as Readonly<Record<string, unknown>>)[step]
        : undefined,
    root,
  )

/** Returns whether a file has the list that `switchOf` names. */
export const hasSwitch = (root: unknown, key: string): boolean => Array.isArray(listAt(root, key.split('.')))

/** Returns the key at the top of a file that switches a server off, such as `mcp.excluded`. */
export const switchOf = (root: Readonly<Record<string, unknown>>, name: string): string | undefined =>
  SWITCHES.find(({ path, isOff }) => {
    const list = listAt(root, path)
    return Array.isArray(list) && list.includes(name) === isOff
  })?.path.join('.')
