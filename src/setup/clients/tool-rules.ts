import { isAbsolute, join } from 'node:path'
import { matcherOf } from '../../kernel/globs.js'
import { isObject } from '../../kernel/object.js'
import type { Json } from '../edit/change.js'
import { openFile, readValue, type Syntax } from '../files/edit-file.js'
import { type Files, hashOf, readState, replaceFile } from '../files/revise.js'
import { type ClientMachine, foldersOf } from './machine.js'

/** A server that moves from a client behind the proxy, and the names of its tools there. */
export interface MovedServer {
  /** In the client. */
  readonly name: string
  /** Before the name of each of its tools, as clients see them. */
  readonly alias: string
  /** Its tools that are known: their own names, and those that clients see. */
  readonly tools: readonly { readonly own: string; readonly shown: string }[]
  /** The name that clients see for a tool. */
  readonly shownAs: (own: string) => string
}

/** Permission rules of Claude Code in one file that lose their tools, and the names to add for them. */
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
/** More projects than anybody works in; their settings are read one by one. */
const PROJECTS_MAX = 500

/** Claude Code replaces other characters in the names of servers. */
const serverRule = (name: string): string => `mcp__${name.replace(/[^A-Za-z0-9_-]/g, '_')}`

/** The names that a rule must also have; undefined if it names no tool of this server. */
const namesFor = (rule: string, list: ListName, server: MovedServer): readonly string[] | undefined => {
  const old = serverRule(server.name)
  if (rule !== old && !rule.startsWith(`${old}__`)) return undefined
  const tool = rule === old ? '*' : rule.slice(old.length + 2)
  if (!tool.includes('*')) return [PROXY + server.shownAs(tool)]
  const isMeant = matcherOf([tool])
  // What is allowed by a pattern is asked for again where patterns are not known.
  const known = list === 'allow' ? [] : server.tools.filter(({ own }) => isMeant(own))
  return [`${PROXY}${server.alias}__${tool}`, ...known.map(({ shown }) => PROXY + shown)]
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string') : []

const permissionsOf = (root: unknown): Readonly<Record<string, unknown>> =>
  isObject(root) && isObject(root['permissions']) ? root['permissions'] : {}

const claudeFolder = ({ env, home }: ClientMachine): string =>
  env['CLAUDE_CONFIG_DIR'] || join(home, '.claude')

const MANAGED: Readonly<Partial<Record<string, string>>> = {
  darwin: '/Library/Application Support/ClaudeCode/managed-settings.json',
  linux: '/etc/claude-code/managed-settings.json',
}

/** The settings of Claude Code: the user's, and those of the projects that it knows and of this folder. */
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

/** A file that is missing or cannot be read has no rules that its client could read. */
const valueIn = async (files: Files, path: string, syntax: Syntax): Promise<unknown> =>
  await readValue(files, path, syntax).catch(() => undefined)

/** The permission rules of Claude Code that would match nothing once these servers have moved. */
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

/** The rules of Claude Code that deny tools or ask before them. */
export interface Restrictions {
  /** One that names a server of its file, or a tool of it. */
  readonly on: (server: string) => string | undefined
  /** One that names tools behind the proxy, which search tools would get round. */
  readonly onProxy: string | undefined
}

/** Reads the rules of Claude Code that restrict tools; undefined for other clients. */
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

/** Rules for all tools of the proxy, or for search tools themselves. */
const COVERS_SEARCH =
  /^mcp__mcp-proxy__(?:\*|find_tools|describe_tools|call_read_tool|call_write_tool|read_result)$/

/** Rules that were added to a file, and hashes of the file before and after. */
export interface AddedRules extends LostRules {
  readonly before: string
  readonly after: string
  /** A copy of the file before; undefined if others have written in between. */
  readonly backup: string | undefined
}

/**
 * Adds the new names next to the old ones; `record` is called right before the file changes. Rejects with a
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

/** Takes added rules out; an unchanged file gets its old bytes. Rejects with a SetupError. */
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

/** Where a client keeps rules about tools by the name of their server, and how they name it. */
interface RulePlace {
  readonly file: (machine: ClientMachine) => string
  readonly syntax: Syntax
  readonly at: readonly (readonly string[])[]
  /** Whether a key or text names a tool of the server. */
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

/** All keys and texts below a value. */
const wordsIn = (value: unknown): readonly string[] => {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(wordsIn)
  return isObject(value) ? Object.entries(value).flatMap(([key, each]) => [key, ...wordsIn(each)]) : []
}

/** A rule of a client that restricts a server by its name, and would match nothing behind the proxy. */
export interface RuleAgainst {
  readonly rule: string
  readonly path: string
  /** The reason why the server must stay in its client. */
  readonly why: string
}

/** Finds rules that cannot get the new names of tools; for a server without any, the result is undefined. */
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

/** Hooks and managed rules cannot be added to. */
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
