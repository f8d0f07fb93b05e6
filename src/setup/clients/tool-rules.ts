import { isAbsolute, join } from 'node:path'
import { matcherOf } from '../../kernel/globs.js'
import { isObject } from '../../kernel/object.js'
import type { Json } from '../edit/change.js'
import { openFile, readValue, type Syntax } from '../files/edit-file.js'
import { type Files, hashOf, readState, replaceFile } from '../files/revise.js'
import { type ClientMachine, foldersOf } from './machine.js'

/** A server that moves behind the proxy, and the new names of its tools. */
export interface MovedServer {
  /** Name in the client. */
  readonly name: string
  /** Prefix of its tool names as clients see them. */
  readonly alias: string
  /** Its known tools: their original names, and the names that clients see. */
  readonly tools: readonly { readonly own: string; readonly shown: string }[]
  /** Returns the name that clients see for a tool. */
  readonly shownAs: (own: string) => string
}

/** Permission rules of Claude Code in one file that no longer match, and the names to add for them. */
export interface LostRules {
  readonly path: string
  readonly lists: readonly {
    readonly list: ListName
    readonly rules: readonly string[]
    readonly added: readonly string[]
  }[]
}

const LISTS = ['deny', 'ask', 'allow'] as const
type ListName = (typeof LISTS)[number]

const PROXY = 'mcp__mcp-proxy__'
/** Maximum projects whose settings are read, one after the other. */
const PROJECTS_MAX = 500

/** Claude Code replaces other characters in server names. */
const serverRule = (name: string): string => `mcp__${name.replace(/[^A-Za-z0-9_-]/g, '_')}`

/** Returns the names to add for a rule; undefined if it names no tool of this server. */
const namesFor = (rule: string, list: ListName, server: MovedServer): readonly string[] | undefined => {
  const old = serverRule(server.name)
  if (rule !== old && !rule.startsWith(`${old}__`)) return undefined
  const tool = rule === old ? '*' : rule.slice(old.length + 2)
  if (!tool.includes('*')) return [PROXY + server.shownAs(tool)]
  const isMeant = matcherOf([tool])
  // A pattern in `allow` is not expanded: the client asks again instead.
  const known = list === 'allow' ? [] : server.tools.filter(({ own }) => isMeant(own))
  return [`${PROXY}${server.alias}__${tool}`, ...known.map(({ shown }) => PROXY + shown)]
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string') : []

const permissionsOf = (root: unknown): Readonly<Record<string, unknown>> =>
  isObject(root) && isObject(root['permissions']) ? root['permissions'] : {}

/** Returns the folder of Claude Code's settings of the user. */
export const claudeFolder = ({ env, home }: ClientMachine): string =>
  env['CLAUDE_CONFIG_DIR'] || join(home, '.claude')

/** Claude Code's settings of an administrator, by platform. */
export const MANAGED: Readonly<Partial<Record<string, string>>> = {
  darwin: '/Library/Application Support/ClaudeCode/managed-settings.json',
  linux: '/etc/claude-code/managed-settings.json',
}

/**
 * Returns Claude Code's settings files: the files of the user, of known projects and of the current folder.
 */
export const settingsFiles = async (files: Files, machine: ClientMachine): Promise<readonly string[]> => {
  const { named, home } = foldersOf(machine)
  const main = join(named('CLAUDE_CONFIG_DIR') ?? home, '.claude.json')
  const value = await valueIn(files, main, 'jsonc')
  const known = isObject(value) && isObject(value['projects']) ? Object.keys(value['projects']) : []
  const folders = [machine.cwd, ...known.filter(folder => isAbsolute(folder)).slice(0, PROJECTS_MAX)]
  const ofProjects = folders.flatMap(folder =>
    ['settings.json', 'settings.local.json'].map(name => join(folder, '.claude', name)),
  )
  return [...new Set([join(claudeFolder(machine), 'settings.json'), ...ofProjects])]
}

/** Returns undefined for a missing or unreadable file, which has no effective rules. */
const valueIn = async (files: Files, path: string, syntax: Syntax): Promise<unknown> =>
  await readValue(files, path, syntax).catch(() => undefined)

/** Returns Claude Code's permission rules that would match no tool once these servers have moved. */
export const lostRules = async (
  files: Files,
  machine: ClientMachine,
  servers: readonly MovedServer[],
): Promise<readonly LostRules[]> => {
  const found: LostRules[] = []
  for (const path of await settingsFiles(files, machine)) {
    const permissions = permissionsOf(await valueIn(files, path, 'jsonc'))
    const lists = LISTS.flatMap(list => {
      const all = textsIn(permissions[list])
      const lost = all.flatMap(rule =>
        servers.flatMap(server => {
          const added = namesFor(rule, list, server)?.filter(name => !all.includes(name)) ?? []
          return added.length === 0 ? [] : [{ rule, added }]
        }),
      )
      const added = [...new Set(lost.flatMap(each => each.added))]
      return lost.length === 0 ? [] : [{ list, rules: lost.map(({ rule }) => rule), added }]
    })
    if (lists.length > 0) found.push({ path, lists })
  }
  return found
}

/** Claude Code's rules that deny tools or ask before they run. */
export interface Restrictions {
  /** Returns a rule that names a server of its file, or one of its tools. */
  readonly on: (server: string) => string | undefined
  /** A rule that names tools behind the proxy, which search tools would bypass. */
  readonly onProxy: string | undefined
}

/** Reads Claude Code's rules that restrict tools; undefined for other clients. */
export const restrictionsOf = async (
  files: Files,
  machine: ClientMachine,
  client: string,
): Promise<Restrictions | undefined> => {
  if (client !== 'claude-code') return undefined
  const rules: string[] = []
  for (const path of await settingsFiles(files, machine)) {
    const { deny, ask } = permissionsOf(await valueIn(files, path, 'jsonc'))
    rules.push(...textsIn(deny), ...textsIn(ask))
  }
  const on = (server: string): string | undefined => {
    const name = serverRule(server)
    return rules.find(rule => rule === name || rule.startsWith(`${name}__`))
  }
  return { on, onProxy: rules.find(rule => rule.startsWith(PROXY) && !COVERS_SEARCH.test(rule)) }
}

/** Matches rules for all tools of the proxy, or for the search tools. */
const COVERS_SEARCH =
  /^mcp__mcp-proxy__(?:\*|find_tools|describe_tools|call_read_tool|call_write_tool|read_result)$/

/** Rules added to a file, and hashes of the file before and after. */
export interface AddedRules extends LostRules {
  readonly before: string
  readonly after: string
  /** Backup of the file; undefined if another program has written it in between. */
  readonly backup: string | undefined
}

/**
 * Adds the new names next to the old ones; calls `record` right before the file changes. Rejects with a
 * SetupError.
 */
export const addRules = async (
  files: Files,
  { path, lists }: LostRules,
  record: (added: AddedRules) => Promise<void>,
): Promise<void> => {
  const { state, value, edited } = await openFile(files, path, 'jsonc')
  const permissions = permissionsOf(value)
  const changes = lists.map(({ list, added }) => {
    const all: readonly Json[] = Array.isArray(permissions[list]) ? (permissions[list] as Json[]) : []
    return { at: ['permissions'], name: list, value: [...all, ...added] }
  })
  const bytes = edited(changes)
  const hashes = { before: hashOf(state.bytes), after: hashOf(bytes) }
  await replaceFile(files, state, bytes, async backup => await record({ path, lists, ...hashes, backup }))
}

/**
 * Removes added rules; restores the original bytes of an otherwise unchanged file. Rejects with a SetupError.
 */
export const dropRules = async (files: Files, added: AddedRules): Promise<void> => {
  const { state, value, edited } = await openFile(files, added.path, 'jsonc')
  const permissions = permissionsOf(value)
  const changes = added.lists.flatMap(({ list, added: names }) => {
    const all: unknown = permissions[list]
    if (!Array.isArray(all)) return []
    const left = (all as Json[]).filter(rule => typeof rule !== 'string' || !names.includes(rule))
    return left.length === all.length ? [] : [{ at: ['permissions'], name: list, value: left }]
  })
  if (changes.length === 0) return
  const isUntouched = hashOf(state.bytes) === added.after
  const old =
    isUntouched && added.backup !== undefined ? await readState(files.disk, added.backup) : undefined
  const isOld = old !== undefined && hashOf(old.bytes) === added.before
  await replaceFile(files, state, isOld ? old.bytes : edited(changes))
}

/** A location of a client's tool rules by server name, and their format. */
interface RulePlace {
  readonly file: (machine: ClientMachine) => string
  readonly syntax: Syntax
  readonly at: readonly (readonly string[])[]
  /** Returns whether a key or text names a tool of the server. */
  readonly names: (text: string, server: string) => boolean
}

const startsWithName = (text: string, server: string): boolean =>
  text === server || ['_', '*', '.', ':', '__'].some(sign => text.startsWith(server + sign))

const PLACES: Readonly<Partial<Record<string, RulePlace>>> = {
  cursor: {
    file: ({ home }) => join(home, '.cursor', 'cli-config.json'),
    syntax: 'jsonc',
    at: [['permissions', 'deny']],
    names: (text, server) => text.startsWith(`Mcp(${server}:`),
  },
  opencode: {
    file: machine =>
      join(machine.env['XDG_CONFIG_HOME'] || join(machine.home, '.config'), 'opencode', 'opencode.json'),
    syntax: 'jsonc',
    at: [['permission'], ['tools'], ['agent'], ['mode']],
    names: startsWithName,
  },
  gemini: {
    file: ({ home }) => join(home, '.gemini', 'settings.json'),
    syntax: 'jsonc',
    at: [['tools', 'exclude'], ['excludeTools']],
    names: (text, server) => startsWithName(text.replace(/^mcp_+/, ''), server),
  },
  goose: {
    file: machine => join(foldersOf(machine).config, 'goose', 'permission.yaml'),
    syntax: 'yaml',
    at: [
      ['user', 'ask_before'],
      ['user', 'never_allow'],
    ],
    names: startsWithName,
  },
  zed: {
    file: machine => join(foldersOf(machine).config, 'zed', 'settings.json'),
    syntax: 'jsonc',
    at: [
      ['agent', 'tool_permissions'],
      ['agent', 'profiles'],
    ],
    names: (text, server) => startsWithName(text.replace(/^mcp:/, ''), server),
  },
}

/** Returns all keys and strings in a value. */
const wordsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(wordsIn)
  return isObject(value) ? Object.entries(value).flatMap(([key, each]) => [key, ...wordsIn(each)]) : []
}

/** A client's rule for a server name that would match no tool behind the proxy. */
export interface RuleAgainst {
  readonly rule: string
  readonly path: string
  /** Reason why the server must stay in its client. */
  readonly why: string
}

/** Finds a rule that cannot get the tools' new names; undefined if the server has none. */
export const ruleAgainst = async (
  files: Files,
  machine: ClientMachine,
  client: string,
): Promise<(server: string) => RuleAgainst | undefined> => {
  if (client === 'claude-code') return await hooksAgainst(files, machine)
  const place = PLACES[client]
  if (place === undefined) return () => undefined
  const path = place.file(machine)
  const root = await valueIn(files, path, place.syntax)
  const words = place.at.flatMap(steps =>
    wordsIn(steps.reduce<unknown>((outer, step) => (isObject(outer) ? outer[step] : undefined), root)),
  )
  return server => {
    const rule = words.find(word => place.names(word, server))
    const why = `its rule "${rule}" in ${path} would match nothing`
    return rule === undefined ? undefined : { rule, path, why }
  }
}

/** Finds hooks and managed rules, to which setup cannot add names. */
const hooksAgainst = async (files: Files, machine: ClientMachine) => {
  const managed = MANAGED[machine.platform]
  const paths = [...(await settingsFiles(files, machine)), ...(managed === undefined ? [] : [managed])]
  const found: { readonly path: string; readonly text: string }[] = []
  for (const path of paths) {
    const root = await valueIn(files, path, 'jsonc')
    const hooks = isObject(root) ? wordsIn(root['hooks']).filter(word => word.includes('mcp__')) : []
    const { deny, ask } = permissionsOf(root)
    const rules = path === managed ? [...textsIn(deny), ...textsIn(ask)] : []
    found.push(...[...hooks, ...rules].map(text => ({ path, text })))
  }
  return (server: string): RuleAgainst | undefined => {
    const rule = found.find(({ text }) =>
      new RegExp(`${serverRule(server)}(?=__|[^A-Za-z0-9_-]|$)`).test(text),
    )
    if (rule === undefined) return undefined
    const { text, path } = rule
    return { rule: text, path, why: `"${text}" in ${path} would match nothing` }
  }
}
