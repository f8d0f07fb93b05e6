import type { ProxyRules } from '../../kernel/machine/forward-proxy.js'
import type { ProblemText, Report } from '../file/problem.js'
import { syntaxValueOf } from '../file/syntax.js'
import { itemAt, members, nodeKindOf, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import {
  FOREIGN_SERVER_KEYS,
  isSwitchedOff,
  NO_FOREIGN_KEYS,
  OFF_IF_FALSE,
  OFF_IF_TRUE,
  warnUnknown,
} from '../schema/keys.js'
import { type Misfit, type ServerValues, validateServer } from '../schema/validate.js'
import type { Environment, Timeouts, Variable } from '../types.js'

/** Records the use of a client's folder in an entry. */
export interface WorkspaceUse {
  isUsed: boolean
}

type Found = Pick<Variable, 'name' | 'value'>

export interface ReadContext {
  readonly text: string
  /** The folder of the file, absolute. */
  readonly folder: string
  /** The folder of programs without `cwd`, absolute. */
  readonly programFolder: string
  readonly env: Environment
  readonly report: Report
  /** Timeouts of servers without their own; the defaults if undefined. */
  readonly timeouts?: Timeouts | undefined
  /** Forward proxies of servers without their own. */
  readonly proxy?: ProxyRules | undefined
  readonly variables: Found[]
  /** As `filesOf`; collected while reading. */
  readonly files: Set<string>
  /** Collects missing variables whose values may still come; undefined if a missing variable is an error. */
  readonly lacks?: string[] | undefined
  /** Set where an entry may name the folder of a client. */
  readonly workspace?: WorkspaceUse
  /** True to read `lock` without the file that it names, which may be missing. */
  readonly ignoresLockFile?: boolean
  /** Variables of the entry's own program, which precede `env`. */
  readonly own?: Environment
}

/** The members of a server's entry, merged with `x-mcp-proxy`, with all spellings of `url` as `url`. */
export type Folded = ReadonlyMap<string, TreeItem>

/** A validated entry of a server. */
export interface ServerEntry {
  readonly name: string
  readonly item: TreeItem
  readonly members: Folded
  readonly values: ServerValues
}

/** Reports misfits, each at its place below the top-level `items`. */
export function reportMisfits(misfits: readonly Misfit[], items: Folded, report: Report): void {
  for (const { path, inName, expected, message, fix } of misfits) {
    const top = items.get(path[0] ?? '')
    if (top === undefined) continue
    const item = itemAt(top, path.slice(1))
    const words: ProblemText = {
      message: expected === undefined ? message : `expected ${expected}, found ${nodeKindOf(item)}`,
      fix,
    }
    if (inName) report.nameError(item, words)
    else report.error(item, words)
  }
}

/** The folded members of an entry; where a key is repeated, `x-mcp-proxy` wins. */
export function foldEntry(item: TreeItem): Folded {
  const outer = new Map(members(item))
  const wrapper = outer.get('x-mcp-proxy')
  const inner = wrapper === undefined ? undefined : members(wrapper)
  if (['disabled', 'enabled'].some(key => inner?.has(key))) {
    // The two keys belong together: in a shared file the outer one may be for the client.
    for (const key of [...OFF_IF_TRUE, ...OFF_IF_FALSE]) outer.delete(key)
  }
  for (const [name, member] of inner ?? []) if (KEYS.own.includes(name)) outer.set(name, member)
  for (const other of ['serverUrl', 'httpUrl']) {
    const url = outer.get(other)
    if (url !== undefined && !outer.has('url')) outer.set('url', url)
  }
  dropUnused(outer)
  return outer
}

/** Drops an empty `command` next to an address, or the reverse: settings windows write all fields. */
const dropUnused = (outer: Map<string, TreeItem>): void => {
  const isEmpty = (key: string): boolean => outer.get(key)?.node.value === ''
  const unused = ['command', 'url'].filter(isEmpty)
  if (unused.length === 1 && outer.has('command') && outer.has('url')) outer.delete(unused[0] ?? '')
}

/** Returns whether an entry is switched off, by our key or by the key of a client's file. */
export const isDisabled = (folded: Folded): boolean => isSwitchedOff(key => folded.get(key)?.node.value)

/** Validates an entry and warns of unknown keys; undefined after errors were reported. */
export function readEntry(
  name: string,
  item: TreeItem,
  folded: Folded,
  { report }: ReadContext,
): ServerEntry | undefined {
  warnUnknownKeys(item, folded, report)
  const checked = [...folded].filter(
    ([key, member]) => KEYS.server.includes(key) && !isFolded(key, member, folded),
  )
  const result = validateServer(
    Object.fromEntries(checked.map(([key, member]) => [key, syntaxValueOf(member)])),
  )
  if (result.is === 'fine') return { name, item, members: folded, values: result.value }
  reportMisfits(result.misfits, folded, report)
  return undefined
}

const warnUnknownKeys = (item: TreeItem, folded: Folded, report: Report): void => {
  warnUnknown(members(item), KEYS.server, FOREIGN_SERVER_KEYS, report)
  const inside = (key: string, known: readonly string[]): void => {
    const member = folded.get(key)
    if (member !== undefined) warnUnknown(members(member), known, NO_FOREIGN_KEYS, report)
  }
  inside('x-mcp-proxy', KEYS.own)
  inside('tools', KEYS.tools)
  inside('timeouts', KEYS.timeouts)
  inside('limits', KEYS.serverLimits)
  inside('restart', KEYS.restart)
  inside('tls', KEYS.tls)
  const tools = folded.get('tools')
  const overrides = tools === undefined ? undefined : members(tools).get('override')
  for (const override of overrides === undefined ? [] : members(overrides).values()) {
    warnUnknown(members(override), KEYS.override, NO_FOREIGN_KEYS, report)
  }
}

// A folded member is checked under its new name.
const isFolded = (key: string, member: TreeItem, folded: Folded): boolean =>
  key === 'x-mcp-proxy' ? member.node.type === 'object' : key !== 'url' && folded.get('url') === member
