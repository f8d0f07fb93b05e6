import { couldOwn, prefixOf } from '../../app/server-registry.js'
import { suggest } from '../../config/schema/suggest.js'
import { isHidden, isPattern } from '../../config/tool-rules.js'
import type { ServerConfig } from '../../config/types.js'
import { type JsonText, memberOf, stringOf } from '../../kernel/json/text.js'
import { isObject } from '../../kernel/object.js'
import type { FileChange, Json } from '../../setup/edit/change.js'
import type { ImportedEntry } from '../../setup/import/normalise.js'
import type { NamedTool } from '../../setup/tool-switch.js'
import { followedBy } from '../setup/followed.js'
import { openOwn, ownEntryOf } from '../setup/own-server.js'
import { readConfiguration } from '../shared/configuration.js'
import { print, printToStderr } from '../shared/output/output.js'
import { stdoutLayout, tableText } from '../shared/output/table.js'
import { askRunning, chooseRunning } from '../shared/running.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption } from '../shared/verb.js'
import { inSession } from './session.js'

export const tools = defineVerb({
  usage: 'tools [what] [names..]',
  describe: 'List tools, or disable and enable them in the configuration',
  flags: { config: configOption, json: jsonOption },
  positionals: {
    what: { type: 'string', describe: 'A server, or `disable` or `enable`' },
    names: {
      type: 'string',
      array: true,
      default: [] as string[],
      describe: 'The tools to disable or enable, by the names that clients see or the server’s own names',
    },
  },
  examples: [
    ['mcp-proxy tools github', 'List the tools of a server, including disabled ones'],
    ['mcp-proxy tools disable github__delete_repo', 'Hide a tool; a running proxy applies the change'],
    ['mcp-proxy tools enable github__delete_repo', 'Show it again'],
  ],
  async run({ config, json = false, what, names }) {
    if (what === 'disable' || what === 'enable') return await switched(what, names, { config, json })
    if (names.length > 0)
      throw new CliError(EXIT.usage, `unknown action: ${what ?? ''}`, {
        fix: `mcp-proxy tools disable ${names[0] ?? 'NAME'}`,
      })
    return await listed(what, { config, json })
  },
})

interface Flags {
  readonly config: string | undefined
  readonly json: boolean
}

// ── the list ──

const listed = async (server: string | undefined, { config, json }: Flags): Promise<number> => {
  const { servers } = await readConfiguration(config)
  if (server !== undefined && !servers.some(({ name }) => name === server)) {
    const { own } = await openOwn(config)
    ownEntryOf(own, server, 'tools')
  }
  const choose = (all: readonly ServerConfig[]) => all.filter(({ name }) => name === (server ?? name))
  const options = {
    verb: 'tools',
    config,
    alone: undefined,
    login: undefined,
    level: 'error' as const,
    choose,
  }
  return await inSession(options, async ({ client }) => {
    const shown = (await client.list('tools')).flatMap(text => shownIn(text, servers))
    const rows = [...shown, ...choose(servers).flatMap(disabledIn)].filter(
      row => server === undefined || row.server === server,
    )
    return {
      code: EXIT.ok,
      show: () => {
        if (json) print(JSON.stringify({ version: 1, tools: rows }))
        else
          print(
            tableText(
              ['TOOL', 'SERVER', 'STATE'],
              rows.map(row => [row.name, row.server, row.state]),
              stdoutLayout(),
            ),
          )
      },
    }
  })
}

interface Row {
  readonly name: string
  readonly server: string
  readonly state: 'enabled' | 'disabled'
}

const shownIn = (text: JsonText, servers: readonly ServerConfig[]): readonly Row[] => {
  const name = stringOf(memberOf(text, 'name')) ?? ''
  const [owner] = couldOwn(servers, name)
  return [{ name, server: owner?.name ?? '', state: 'enabled' }]
}

/** Returns the tools that the file disables by name, and the patterns by which it hides others. */
const disabledIn = (server: ServerConfig): readonly Row[] =>
  server.tools.deny.map(own => ({
    name: isPattern(own) ? own : exposedAs(server, own),
    server: server.name,
    state: 'disabled',
  }))

const exposedAs = (server: ServerConfig, own: string): string =>
  (prefixOf(server) ?? '') + (server.tools.rename[own] ?? own)

// ── disable and enable ──

const switched = async (
  what: 'disable' | 'enable',
  names: readonly string[],
  { config, json }: Flags,
): Promise<number> => {
  if (names.length === 0)
    throw new CliError(EXIT.usage, 'which tool? Name one, such as github__search', {
      fix: 'mcp-proxy tools',
    })
  const [{ own, files }, { servers }, { writeOwnFile }, { toolSwitched }] = await Promise.all([
    openOwn(config),
    readConfiguration(config),
    import('../../setup/own-file.js'),
    import('../../setup/tool-switch.js'),
  ])
  const file = own.file.state.path
  const isEnabling = what === 'enable'
  const found = await Promise.all(names.map(name => toolNamed(name, { servers, file, isEnabling })))
  const changes: FileChange[] = []
  const entries = new Map(own.servers)
  for (const tool of found) {
    const entry = entries.get(tool.server) ?? ownEntryOf(own, tool.server, 'tools')
    const change = toolSwitched(tool, entry, isEnabling)
    if (change === undefined) continue
    if ('message' in change)
      throw new CliError(isEnabling ? EXIT.negative : EXIT.usage, change.message, { fix: change.fix })
    const { at, name, value = null } = change
    changes.push(change)
    entries.set(tool.server, withValue(entry, [...at.slice(1), name], value))
  }
  const isWritten = await writeOwnFile(files, own, changes)
  if (json)
    print(JSON.stringify({ version: 1, tools: found, disabled: what === 'disable', changed: isWritten }))
  else
    for (const { server, own: name } of found)
      printToStderr(`${name} of ${server} is ${isWritten ? '' : 'already '}${what}d`)
  return await followedBy(file)
}

/** Returns an entry with another value on a path. */
const withValue = (
  entry: ImportedEntry,
  [key = '', ...rest]: readonly string[],
  value: Json,
): ImportedEntry => {
  const inner = entry[key]
  return {
    ...entry,
    [key]: rest.length === 0 ? value : withValue(isObject(inner) ? inner : {}, rest, value),
  }
}

interface Lookup {
  readonly servers: readonly ServerConfig[]
  readonly file: string
  /** Prefers tools that are disabled by name. */
  readonly isEnabling: boolean
}

/** Finds the tool that a name means: by its prefix, as the only server's, or as a running proxy knows it. */
const toolNamed = async (name: string, { servers, file, isEnabling }: Lookup): Promise<NamedTool> => {
  const running = await knownTools(file)
  const exact = running.filter(tool => tool.name === name)
  const named = exact.length > 0 ? exact : running.filter(tool => tool.own === name)
  const prefixed = servers.filter(server => name.startsWith(prefixOf(server) ?? '\0'))
  const byPrefix = prefixed.map(server => ({ server: server.name, own: ownNameOf(server, name) }))
  const denying = servers.filter(({ tools: { deny } }) => deny.includes(name))
  const denied = denying.map(({ name: server }) => ({ server, own: name }))
  const candidates = [
    ...(isEnabling ? [denied, named] : [named, denied]),
    byPrefix,
    servers.map(({ name: server }) => ({ server, own: name })),
  ].find(each => each.length > 0)
  const [first, ...others] = candidates ?? []
  if (first !== undefined && others.length === 0) {
    if (named.length === 0) checkKnown(name, first, { servers, running })
    return { server: first.server, own: first.own }
  }
  const prefixes = servers.flatMap(server => prefixOf(server) ?? [])
  throw new CliError(EXIT.usage, `several servers may have a tool ${name}`, {
    why: 'without a running proxy that knows it, the name needs the prefix of its server',
    fix: `mcp-proxy tools disable ${prefixes[0] ?? ''}${name}`,
  })
}

/** Throws a CliError for a tool that the running proxy would show if its server had it. */
const checkKnown = (
  name: string,
  { server, own }: NamedTool,
  {
    servers,
    running,
  }: Pick<Lookup, 'servers'> & { readonly running: readonly (NamedTool & { readonly name: string })[] },
): void => {
  const rules = servers.find(one => one.name === server)?.tools
  const names = running.filter(tool => tool.server === server).map(tool => tool.name)
  if (names.length > 0 && (rules === undefined || !isHidden(rules, own))) throw unknownTool(name, names)
}

const unknownTool = (name: string, names: readonly string[]): CliError => {
  const meant = suggest(name, names)
  return new CliError(
    EXIT.usage,
    `there is no tool ${name}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    {
      fix: 'mcp-proxy tools',
    },
  )
}

const ownNameOf = (server: ServerConfig, name: string): string => {
  const shown = name.slice((prefixOf(server) ?? '').length)
  return Object.entries(server.tools.rename).find(([, to]) => to === shown)?.[0] ?? shown
}

/** Returns the tools that the running proxy of a file shows; empty without one. */
const knownTools = async (file: string): Promise<readonly (NamedTool & { readonly name: string })[]> => {
  const { one } = await chooseRunning(file)
  if (one?.socket === undefined) return []
  try {
    const { tools: known } = JSON.parse(await askRunning(one, '/v1/tools?limit=10000')) as {
      tools?: readonly (NamedTool & { readonly name: string })[]
    }
    return known ?? []
  } catch {
    return []
  }
}
