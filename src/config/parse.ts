import { dirname, resolve } from 'node:path'
import { DEFAULTS } from './defaults.js'
import { findServers } from './file/find-servers.js'
import { createReport, type Report } from './file/problem.js'
import { readTree } from './file/syntax.js'
import { createLocator, type Item, members, repeated, valueOf } from './file/tree.js'
import { type Around, reportMisfits } from './read/entry.js'
import { expandedPath } from './read/expand-variables.js'
import { readLimits } from './read/limits.js'
import { isShortForm, readListen } from './read/listen.js'
import { readDuration, readServer } from './read/server.js'
import { readStateKeys } from './read/state-keys.js'
import { NO_FOREIGN_KEYS, warnUnknown } from './schema/keys.js'
import { KEYS } from './schema/validate.generated.js'
import { type SettingsValues, validateSettings } from './schema/validate.js'
import type { AuditConfig, DisabledServer, Environment, Loaded, ProxyConfig, ServerConfig } from './types.js'

/**
 * Resolves the text of a configuration file. Never throws: what is wrong with one server costs that server, what
 * is wrong beside the servers falls back to its default, and both are told in `problems`.
 */
export function parseConfig(text: string, file: string, env: Environment): Loaded {
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text
  const report = createReport(file, createLocator(body))
  const root = readTree(body, report)
  if (root !== undefined) warnRepeated(root, report)
  const around: Around = { text: body, folder: dirname(resolve(file)), env, report, variables: [] }
  const contents = root === undefined ? undefined : findServers(root, around)
  if (contents === undefined) return { config: undefined, problems: report.problems, disabled: [] }
  const settings = readSettings(contents.settings, around)
  const { servers, disabled } = readServers(contents.servers, around)
  const { variables } = around
  return { config: { servers, ...settings, variables }, problems: report.problems, disabled }
}

const warnRepeated = (root: Item, report: Report): void => {
  for (const item of repeated(root)) {
    report.nameWarning(item, {
      message: 'this key stands here a second time, and the last one wins',
      mend: 'Keep one of them.',
    })
  }
}

const readServers = (
  items: ReadonlyMap<string, Item>,
  around: Around,
): { readonly servers: readonly ServerConfig[]; readonly disabled: readonly DisabledServer[] } => {
  const servers: ServerConfig[] = []
  const disabled: DisabledServer[] = []
  const prefixes = new Map<string, Item>()
  for (const [name, item] of items) {
    const read = readServer(name, item, around)
    if (read.is !== 'ready') {
      disabled.push({ name, why: read.is })
      continue
    }
    // Without a prefix a server is known by its name, in the URIs of its resources even where that is meant.
    const prefix = read.config.prefix === false ? name : (read.config.prefix ?? name)
    const other = prefixes.get(prefix)
    if (other !== undefined) {
      around.report.nameError(read.members.get('prefix') ?? item, {
        message: `${other.key} has the same prefix`,
        mend: 'Give one of the two servers another "prefix".',
      })
      disabled.push({ name, why: 'invalid' })
      continue
    }
    prefixes.set(prefix, item)
    servers.push(read.config)
  }
  return { servers, disabled }
}

// ── what stands beside the servers ───────────────────────────────────────────────────────────────────────

const readSettings = (
  items: ReadonlyMap<string, Item>,
  around: Around,
): Omit<ProxyConfig, 'servers' | 'variables'> => {
  const { report } = around
  for (const key of ['listen', 'log', 'limits', 'requestState'] as const) {
    const item = items.get(key)
    if (item !== undefined) warnUnknown(members(item), KEYS[key], NO_FOREIGN_KEYS, report)
  }
  const listenItem = items.get('listen')
  const long = [...items].filter(([key, item]) => key !== 'listen' || !isShortForm(item))
  const values = checkedSettings(new Map(long), around)
  const wait = (key: 'startupWait' | 'drain'): number | undefined => {
    const [value, item] = [values[key], items.get(key)]
    return value === undefined || item === undefined ? undefined : readDuration(value, item, 0, report)
  }
  return {
    listen: readListen(listenItem, values.listen, around),
    pageSize: values.pageSize ?? DEFAULTS.pageSize,
    startupWaitMs: wait('startupWait') ?? DEFAULTS.startupWaitMs,
    drainMs: wait('drain') ?? DEFAULTS.drainMs,
    limits: {
      ...DEFAULTS.limits,
      ...readLimits(items.get('limits'), values.limits, { names: KEYS.limits, report }),
    },
    audit: readAudit(items.get('audit'), values, around),
    logLevel: values.log?.level ?? DEFAULTS.logLevel,
    knownServers: values.knownServers ?? DEFAULTS.knownServers,
    stateKeys: readStateKeys(items.get('requestState'), values.requestState, around),
  }
}

const readAudit = (
  item: Item | undefined,
  { audit = DEFAULTS.audit, auditArguments: withArguments = DEFAULTS.auditArguments }: SettingsValues,
  around: Around,
): AuditConfig | undefined => {
  if (item === undefined || audit === 'off') return undefined
  if (audit === 'stderr') return { to: 'stderr', withArguments }
  const { errors } = around.report
  const path = expandedPath(item, around)
  return around.report.errors > errors
    ? undefined
    : { to: { file: resolve(around.folder, path) }, withArguments }
}

const checkedSettings = (items: ReadonlyMap<string, Item>, { report }: Around): SettingsValues => {
  const known = [...items].filter(([key]) => KEYS.root.includes(key))
  const values: Record<string, unknown> = Object.fromEntries(known.map(([key, item]) => [key, valueOf(item)]))
  const result = validateSettings(values)
  if (result.is === 'fine') return result.value
  reportMisfits(
    result.misfits.map(misfit => ({ ...misfit, mend: `${misfit.mend} Until then the default holds.` })),
    items,
    report,
  )
  for (const { path } of result.misfits) drop(values, path)
  const rest = validateSettings(values)
  return rest.is === 'fine' ? rest.value : {}
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Takes the member away that a path leads to; of a list that has a bad element, the whole list. */
const drop = (value: Record<string, unknown>, [step, ...rest]: readonly string[]): void => {
  if (step === undefined) return
  const next = value[step]
  if (rest.length > 0 && isObject(next)) drop(next, rest)
  else Reflect.deleteProperty(value, step)
}
