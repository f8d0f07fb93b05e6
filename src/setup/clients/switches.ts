import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { hasSwitch, switchOf } from '../../config/schema/client-switches.js'
import { matcherOf } from '../../kernel/globs.js'
import { isObject } from '../../kernel/object.js'
import { type ContainerMembers, type Found, switchedOff } from '../edit/containers.js'
import type { Disk } from '../files/disk.js'
import { readValue } from '../files/edit-file.js'
import type { ClientFormat } from './formats.js'
import { type ClientMachine, foldersOf } from './machine.js'
import { claudeFolder, MANAGED } from './tool-rules.js'

/** A file with servers. */
interface SwitchedFile {
  readonly format: ClientFormat | undefined
  readonly file: string
  /** The whole file. */
  readonly root: unknown
  /** Folder of the project that the servers belong to. */
  readonly project: string | undefined
}

interface SwitchContext {
  readonly disk: Disk
  readonly machine: ClientMachine
}

/** Returns why a client does not start a server; undefined if it does. */
type Reason = (found: Found) => string | undefined

/**
 * Disables the servers that their client does not start because of its other settings: VS Code's chat
 * settings, Gemini's list of enabled servers, Amp's rules, and Claude Code's lists of servers. Never rejects.
 */
export const withSwitches = async (
  found: readonly Found[],
  file: SwitchedFile,
  context: SwitchContext,
): Promise<readonly Found[]> => {
  const reasons = await reasonsFor(file, context)
  return found.map(each => {
    const why = reasons.map(reason => reason(each)).find(text => text !== undefined)
    return why === undefined ? each : switchedOff(each, `disabled, as ${why} says in its client`)
  })
}

/**
 * Returns the setting with which a client rules out an entry by its name or command; undefined without one.
 * Lists of single projects do not count. Never rejects.
 */
export const ruledOutBy = async (
  found: Found,
  file: SwitchedFile,
  context: SwitchContext,
): Promise<string | undefined> => {
  const reasons =
    file.format?.id === 'claude-code'
      ? [ofPolicy(await settingsOfClaude(file.project, context))]
      : await reasonsFor(file, context)
  const lists = isObject(file.root) ? file.root : {}
  return [ofLists([lists]), ...reasons].map(reason => reason(found)).find(text => text !== undefined)
}

const reasonsFor = async (file: SwitchedFile, context: SwitchContext): Promise<readonly Reason[]> => {
  const { id = '' } = file.format ?? {}
  if (/^vscode/.test(id)) return await ofVsCode(file, context)
  const { home, config, isWindows } = foldersOf(context.machine)
  if (id === 'zed') {
    const users = join(config, isWindows ? 'Zed' : 'zed', 'settings.json')
    return ofZed([file.root, await read(users, context)])
  }
  if (id === 'copilot-cli') {
    const places = [dirname(file.file), join(home, '.copilot')]
    return [ofLists(await Promise.all(places.map(place => read(join(place, 'config.json'), context))))]
  }
  if (id === 'amp') {
    const users = ['settings.json', 'settings.jsonc'].map(name => join(home, '.config', 'amp', name))
    return [ofAmp([file.root, ...(await Promise.all(users.map(path => read(path, context))))])]
  }
  if (id === 'gemini' || id === 'qwen') return await ofGemini(file, context)
  return id === 'claude-code' ? await ofClaudeCode(file, context) : []
}

/** Returns undefined for a missing or unreadable file. */
const read = async (path: string, { disk }: SwitchContext): Promise<ContainerMembers | undefined> => {
  const value = await readValue({ disk }, path, 'jsonc').catch(() => undefined)
  return isObject(value) ? value : undefined
}

const namesIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : []

/** Reads `settings.json` next to the file; servers of a project also follow the user's settings. */
const ofVsCode = async (
  { file, project }: SwitchedFile,
  context: SwitchContext,
): Promise<readonly Reason[]> => {
  const next = await read(join(dirname(file), 'settings.json'), context)
  const { application } = foldersOf(context.machine)
  const users =
    project === undefined ? undefined : await read(join(application, 'Code/User/settings.json'), context)
  return [next, users].flatMap((settings): readonly Reason[] => {
    if (settings === undefined) return []
    const { 'chat.mcp.access': access, 'chat.mcp.enabled': enabled, 'chat.disableAIFeatures': off } = settings
    if (access === 'none' || enabled === false || off === true) {
      const key = access === 'none' ? 'access' : 'enabled'
      return [() => `"chat.${off === true ? 'disableAIFeatures' : `mcp.${key}`}"`]
    }
    // Only servers from the gallery have this key.
    return access === 'registry'
      ? [({ entry }: Found) => ('gallery' in entry ? undefined : '"chat.mcp.access"')]
      : []
  })
}

/** Copilot CLI keeps the names of disabled servers apart. */
const ofLists =
  (settings: readonly (ContainerMembers | undefined)[]): Reason =>
  ({ name }) => {
    const key = settings.map(each => switchOf(each ?? {}, name)).find(each => each !== undefined)
    return key === undefined ? undefined : `"${key}"`
  }

/** Zed can switch off all of its AI features, for a project or in the user's settings. */
const ofZed = (settings: readonly unknown[]): readonly Reason[] =>
  settings.flatMap((each): readonly Reason[] => {
    const { disable_ai: off, agent } = isObject(each) ? each : {}
    if (off === true) return [() => '"disable_ai"']
    return isObject(agent) && agent['enabled'] === false ? [() => '"agent.enabled"'] : []
  })

const AMP_RULES = 'amp.mcpPermissions'

/** The first of Amp's rules that matches a server decides; without one, it starts. */
const ofAmp = (settings: readonly unknown[]): Reason => {
  const rules = rulesIn(settings.filter(isObject), AMP_RULES)
  return ({ entry: { command, args, url } }) => {
    const values = Object.entries({ command, args: Array.isArray(args) ? args.join(' ') : '', url })
    const texts = new Map(values.map(([key, value]) => [key, typeof value === 'string' ? value : '']))
    const found = rules.find(({ matches }) => {
      const globs = isObject(matches) ? Object.entries(matches) : []
      return globs.length > 0 && globs.every(([key, glob]) => matcherOf([String(glob)])(texts.get(key) ?? ''))
    })
    return found?.['action'] === 'reject' ? `"${AMP_RULES}"` : undefined
  }
}

/**
 * Reads the file that `gemini mcp disable` writes, with names in lower case, and the user's settings, which
 * also apply to projects.
 */
const ofGemini = async ({ file, root }: SwitchedFile, context: SwitchContext): Promise<readonly Reason[]> => {
  const name = 'mcp-server-enablement.json'
  const folder = join(context.machine.home, basename(dirname(file)))
  const lists = await Promise.all([dirname(file), folder].map(place => read(join(place, name), context)))
  const users = (await read(join(folder, 'settings.json'), context)) ?? {}
  return [
    ({ name: server }) => {
      const key = switchOf(users, server)
      // A project's own list of allowed servers replaces the user's.
      const isReplaced = key !== undefined && /allow/i.test(key) && hasSwitch(root, key)
      return key === undefined || isReplaced ? undefined : `"${key}"`
    },
    ({ name: server }) => {
      const isOff = lists.some(list => {
        const state = list?.[server.trim().toLowerCase()]
        return isObject(state) && state['enabled'] === false
      })
      return isOff ? name : undefined
    },
  ]
}

/** Reads the lists that Claude Code keeps for each project, and the lists in its settings. */
const ofClaudeCode = async (
  { file, root, project }: SwitchedFile,
  context: SwitchContext,
): Promise<readonly Reason[]> => {
  const { machine } = context
  const isMain = basename(file) === '.claude.json'
  const main = isMain ? root : await read(join(homeOf(machine), '.claude.json'), context)
  const projects = isObject(main) && isObject(main['projects']) ? Object.entries(main['projects']) : []
  const lists = projects.flatMap(([folder, values]) =>
    isObject(values) && (project === undefined || folder === project) ? [{ folder, values }] : [],
  )
  const settings = await settingsOfClaude(project, context)
  const isProjectFile = basename(file) === '.mcp.json'
  return [
    ({ name }) => {
      const { folder } = lists.find(each => namesIn(each.values['disabledMcpServers']).includes(name)) ?? {}
      return folder === undefined ? undefined : `"disabledMcpServers" of ${folder}`
    },
    found => deniedBy(found, settings),
    ...(isProjectFile ? [ofProjectFile([...lists.map(each => each.values), ...settings])] : []),
  ]
}

/** Reads Claude Code's settings: those of the organization, the user and the project. */
const settingsOfClaude = async (
  project: string | undefined,
  context: SwitchContext,
): Promise<readonly ContainerMembers[]> => {
  const { machine } = context
  const paths = [
    MANAGED[machine.platform],
    join(claudeFolder(machine), 'settings.json'),
    ...(project === undefined
      ? []
      : ['settings.json', 'settings.local.json'].map(name => join(project, '.claude', name))),
  ]
  const settings: ContainerMembers[] = []
  for (const path of paths) {
    const value = path === undefined ? undefined : await read(path, context)
    if (value !== undefined) settings.push(value)
  }
  return settings
}

const homeOf = ({ env, home }: ClientMachine): string => env['CLAUDE_CONFIG_DIR'] || home

/** Claude Code asks before it starts a server of `.mcp.json`, and keeps the answers in lists. */
const ofProjectFile =
  (lists: readonly ContainerMembers[]): Reason =>
  ({ name }) => {
    if (lists.some(each => namesIn(each['disabledMcpjsonServers']).includes(name)))
      return '"disabledMcpjsonServers"'
    if (lists.some(each => each['enableAllProjectMcpServers'] === true)) return undefined
    const enabled = lists.flatMap(each => namesIn(each['enabledMcpjsonServers']))
    return enabled.length === 0 || enabled.includes(name) ? undefined : '"enabledMcpjsonServers"'
  }

const rulesIn = (settings: readonly ContainerMembers[], key: string): readonly ContainerMembers[] =>
  settings.flatMap(each => (Array.isArray(each[key]) ? each[key].filter(isObject) : []))

/** Returns the list in Claude Code's settings that rules a server out by its name. */
const deniedBy = ({ name }: Found, settings: readonly ContainerMembers[]): string | undefined => {
  const isNamed = (rule: ContainerMembers): boolean => rule['serverName'] === name
  if (rulesIn(settings, 'deniedMcpServers').some(isNamed)) return '"deniedMcpServers"'
  const allowed = rulesIn(settings, 'allowedMcpServers')
  const areNames = allowed.length > 0 && allowed.every(rule => 'serverName' in rule)
  return areNames && !allowed.some(isNamed) ? '"allowedMcpServers"' : undefined
}

/**
 * Claude Code's list of allowed servers: where it has commands or addresses, an entry with a command or an
 * address needs one that is equal; otherwise it needs its name there. An empty list allows nothing.
 */
const ofPolicy =
  (settings: readonly ContainerMembers[]): Reason =>
  found => {
    const { name, entry } = found
    const denied = deniedBy(found, settings)
    if (denied !== undefined) return denied
    if (!settings.some(each => Array.isArray(each['allowedMcpServers']))) return undefined
    const allowed = rulesIn(settings, 'allowedMcpServers')
    const { command, args, url } = entry
    const [key, own] =
      url === undefined
        ? ['serverCommand', [command, ...(Array.isArray(args) ? (args as unknown[]) : [])]]
        : ['serverUrl', url]
    const isAllowed = allowed.some(rule => key in rule)
      ? allowed.some(rule => isDeepStrictEqual(rule[key], own))
      : allowed.some(rule => rule['serverName'] === name)
    return isAllowed ? undefined : '"allowedMcpServers"'
  }
