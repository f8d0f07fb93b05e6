import type { ClientConfig } from '../../config/types.js'
import { matcherOf } from '../../kernel/globs.js'
import { rulesOf, shownInAnyCase } from '../../search/expose-rules.js'
import { identityOf, resolvedEntry, settingsOf } from '../../setup/import/identity.js'
import type { ClientEntry, ClientFacts, ClientFile, ConfigFacts, Probe } from '../facts.js'
import { type Finding, finding } from '../finding.js'
import { enabledEntries } from './configuration.js'

const oursIn = ({ entries }: ClientFile) => entries.filter(({ isOurs }) => isOurs)
const isServed = ({ files }: ClientFacts): boolean => files.some(file => oursIn(file).length > 0)

export const lookAtEntries = (clients: readonly ClientFacts[]): readonly Finding[] =>
  clients.flatMap(client => client.files.flatMap(file => entryFinding(client, file) ?? []))

const entryFinding = ({ id, label }: ClientFacts, file: ClientFile): Finding | undefined => {
  const { path, broken, isInstalled, misplaced, project } = file
  const facts = { client: label, file: path, id }
  const about = { subject: id }
  if (broken !== undefined)
    return finding(isInstalled ? 'D050.broken' : 'D050.broken-unused', { ...facts, why: broken }, about)
  const autoFix = project === undefined ? ({ is: 'install', client: id } as const) : undefined
  const fixable = { ...about, autoFix }
  if (misplaced !== undefined) return finding('D050', { ...facts, why: misplaced }, fixable)
  if (oursIn(file).length > 0) return undefined
  if (isInstalled) return finding('D050.gone', facts, fixable)
  return project === undefined ? finding('D050.absent', facts, fixable) : undefined
}

export const lookAtRepeated = (clients: readonly ClientFacts[], config: ConfigFacts): readonly Finding[] => {
  const behind = enabledEntries(config)
  const isBehind = ({ identity, entry }: ClientEntry): boolean => {
    const settings = settingsOf(resolvedEntry(entry, config.envFile.values))
    return behind.some(([, each]) => identityOf(each) === identity && settingsOf(each) === settings)
  }
  return clients.filter(isServed).flatMap(({ id, label: client, files }) =>
    files.flatMap(file =>
      file.entries
        .filter(entry => !entry.isOurs && !entry.isOff && isBehind(entry))
        .map(({ name: server }) => {
          const { path, project } = file
          const facts = { server, client, id, why: path }
          return project === undefined
            ? finding('D051', facts, { subject: id })
            : finding('D051.project', { ...facts, project, file: path }, { subject: id })
        }),
    ),
  )
}

export const lookAtPaths = (clients: readonly ClientFacts[]): readonly Finding[] =>
  clients.flatMap(({ id, files }) =>
    files.flatMap(({ path: file, entries }) =>
      entries.flatMap(({ frail }) =>
        frail.map(({ path, why }) =>
          finding('D052', { file, path, why }, { subject: id, autoFix: { is: 'refresh' } }),
        ),
      ),
    ),
  )

export const lookAtForeign = (clients: readonly ClientFacts[]): readonly Finding[] =>
  clients.flatMap(({ id, label: client, files }) =>
    files.flatMap(({ path: file, entries, project }) =>
      entries
        .filter(({ identity }) => identity.startsWith('["npm","mcp-proxy"'))
        .map(({ name }) => {
          const autoFix = project === undefined ? ({ is: 'install', client: id } as const) : undefined
          return finding('D053', { client, file, id, name }, { subject: id, autoFix })
        }),
    ),
  )

/** The key of this proxy's entry; the same key in a project file overrides it. */
const KEY = 'mcp-proxy'

export const lookAtProjects = (clients: readonly ClientFacts[]): readonly Finding[] =>
  clients.flatMap(({ id, files }) => {
    const user = files.find(({ project }) => project === undefined)
    if (user === undefined || oursIn(user).length === 0) return []
    return files.flatMap(({ path: file, project, entries }) =>
      project !== undefined && entries.some(({ name }) => name === KEY)
        ? [finding('D054', { file, project, id }, { subject: id })]
        : [],
    )
  })

export const lookAtAddresses = (clients: readonly ClientFacts[]): readonly Finding[] =>
  clients.flatMap(({ id, label: client, files }) =>
    files.flatMap(({ entries }) =>
      entries.flatMap(({ deadUrl: url }) => {
        if (url === undefined) return []
        const port = new URL(url).port || '80'
        return [finding('D055', { client, url, port, id }, { subject: id })]
      }),
    ),
  )

/** Maximum number of names shown from a list. */
const NAMES_MAX = 3

export const lookAtRules = (clients: readonly ClientFacts[]): readonly Finding[] =>
  clients.flatMap(({ id, label: client, deadRules = [] }) =>
    deadRules.map(({ file, rule, names }) => {
      const shown = names?.slice(0, NAMES_MAX).join(', ')
      const more =
        names !== undefined && names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : ''
      const facts = { client, rule, file, id }
      return shown === undefined
        ? finding('D058', facts, { subject: id })
        : finding('D058.renamed', { ...facts, names: `${shown}${more}` }, { subject: id })
    }),
  )

/** Finds clients that accept fewer tools than their view and mode expose. */
export const lookAtCaps = (
  clients: readonly ClientFacts[],
  probes: readonly Probe[],
  { loaded: { config } }: ConfigFacts,
): readonly Finding[] => {
  if (config === undefined) return []
  const rulesFor = rulesOf(config)
  const tools = probes.flatMap(probe => probe.tools)
  return clients.filter(isServed).flatMap(client => {
    const { id, label } = client
    const view = viewOf(client, config.clients)
    const isView = config.views.some(({ name }) => name === view)
    const shown = isView ? tools.filter(({ views }) => views.includes(view)) : tools
    const rules = rulesFor(id, view)
    const { cap } = rules
    const count = shown.length
    if (count <= cap || rules.mode === 'search') return []
    const facts = { count, client: label, cap }
    return rules.mode === 'auto'
      ? [finding('D056.search', { ...facts, id }, { subject: id })]
      : [finding('D056', facts, { subject: id })]
  })
}

/** Returns the view requested by the entry, or assigned to the client. */
const viewOf = ({ id, files }: ClientFacts, rules: readonly ClientConfig[]): string => {
  const [entry] = files.flatMap(oursIn).map(each => each.entry)
  const words = stringsIn(entry?.['args'])
  const [url] = stringsIn([entry?.['url']])
  const asked = words.includes('--view')
    ? words[words.indexOf('--view') + 1]
    : /\/(?:mcp|sse|ws)\/([a-z][a-z0-9-]*)$/.exec(url ?? '')?.[1]
  const rule = rules.find(({ name, view }) => view !== undefined && matcherOf([name])(id))
  return asked ?? rule?.view ?? 'default'
}

const stringsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter(each => typeof each === 'string') : []

export const lookAtLoading = (clients: readonly ClientFacts[]): readonly Finding[] =>
  clients.flatMap(client => {
    const { id, label, apiHost: host, restriction } = client
    if (id !== 'claude-code' || host === undefined || !isServed(client)) return []
    return /(?:^|\.)anthropic\.com$/.test(host)
      ? []
      : [finding(restriction === undefined ? 'D057' : 'D057.rules', { client: label, host }, { subject: id })]
  })

/** Finds clients whose rules for single tools do not cover the search tools. */
export const lookAtSearch = (
  clients: readonly ClientFacts[],
  { loaded: { config } }: ConfigFacts,
): readonly Finding[] => {
  if (config === undefined) return []
  const rulesFor = rulesOf(config)
  return clients.flatMap(client => {
    const { id, label, restriction: rule } = client
    if (rule === undefined || !isServed(client)) return []
    const rules = rulesFor(id, viewOf(client, config.clients))
    if (shownInAnyCase(rules)?.mode === 'direct') return []
    return [finding('D059', { client: label, rule }, { subject: id })]
  })
}
