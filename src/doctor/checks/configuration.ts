import { DEFAULTS } from '../../config/defaults.js'
import { isSwitchedOff } from '../../config/schema/keys.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { isObject } from '../../kernel/object.js'
import { identityOf, resolvedEntry, settingsOf } from '../../setup/import/identity.js'
import { type ImportedEntry, normalise } from '../../setup/import/normalise.js'
import { replaceSecrets } from '../../setup/import/secrets.js'
import type { ConfigFacts, DaemonFacts, FileFacts, ServiceFacts, ShellFacts } from '../facts.js'
import { type Finding, finding } from '../finding.js'

const OTHERS = 0o077
const DIALECT = { timeoutUnit: 'ms', hasShellVariables: false } as const

/** Returns the enabled entries of the configuration, normalized and with the values of the secrets file. */
export const enabledEntries = ({
  entries,
  envFile,
}: ConfigFacts): readonly (readonly [name: string, entry: ImportedEntry])[] =>
  [...entries].flatMap(([name, raw]) => {
    if (isSwitchedOff(key => raw[key])) return []
    const { envFile: file = null, inheritEnv = null } = raw
    const { entry } = normalise(raw, DIALECT)
    return [[name, resolvedEntry({ ...entry, envFile: file, inheritEnv }, envFile.values)]]
  })

export const lookAtFile = ({ file, why, isMissing }: FileFacts): readonly Finding[] =>
  why === undefined
    ? []
    : [finding(isMissing === true ? 'D010' : 'D010.unusable', { file, why }, { subject: file })]

export const lookAtSyntax = ({ loaded }: ConfigFacts): readonly Finding[] =>
  loaded.problems
    .filter(({ id }) => id === undefined)
    .map(({ file, line, column, key, message, fix, severity }) => {
      const place = line === 0 ? file : `${file}:${line}:${column}`
      const what = key === '' ? message : `${key}: ${message}`
      const facts = { place, what, advice: fix.replace(/\.$/, '') }
      return finding(severity === 'warning' ? 'D011.warning' : 'D011', facts, { subject: key })
    })

/** Returns the keys of the secrets in an entry, such as `env.TOKEN`. */
const secretKeys = (entry: ImportedEntry): readonly string[] => {
  const parts = Object.entries(entry).flatMap(
    ([key, value]): readonly (readonly [string, ImportedEntry])[] => {
      if (key !== 'env' && key !== 'headers') return [[key, { [key]: value }]]
      const members = isObject(value) ? Object.entries(value) : []
      return members.map(([name, each]) => [`${key}.${name}`, { [key]: { [name]: each } }])
    },
  )
  return parts.flatMap(([key, part]) => {
    return literalSecrets([part]).length > 0 ? [key] : []
  })
}

/** Returns the literal secrets in entries, to be masked. */
export const literalSecrets = (entries: Iterable<ImportedEntry>): readonly string[] => {
  const found: string[] = []
  for (const entry of entries) replaceSecrets(entry, (_name, value) => String(found.push(value)))
  return found
}

export const lookAtSecrets = ({ entries }: ConfigFacts): readonly Finding[] =>
  [...entries].flatMap(([server, entry]) =>
    secretKeys(entry).map(key =>
      finding('D013', { server, key }, { subject: server, autoFix: { is: 'move-secrets' } }),
    ),
  )

/** Checks only files with secrets. */
export const lookAtRights = (facts: ConfigFacts): readonly Finding[] => {
  const { file, mode, envFile, entries } = facts
  const hasSecrets = [...entries.values()].some(entry => secretKeys(entry).length > 0)
  const files = [
    { path: file, mode: hasSecrets ? mode : undefined },
    { path: envFile.path, mode: Object.keys(envFile.values).length > 0 ? envFile.mode : undefined },
  ]
  return files.flatMap(each =>
    each.mode === undefined || (each.mode & OTHERS) === 0
      ? []
      : [
          finding(
            'D012',
            { file: each.path },
            { subject: each.path, autoFix: { is: 'rights', path: each.path, mode: 0o600 } },
          ),
        ],
  )
}

export const lookAtReload = ({ status, file }: DaemonFacts): readonly Finding[] => {
  const last = status?.config?.lastReload
  if (last?.result !== 'refused') return []
  return [finding('D014', { file, why: last.problems?.[0] }, { subject: file })]
}

export const lookAtRestart = ({ status }: DaemonFacts): readonly Finding[] => {
  const keys = status?.config?.lastReload?.needRestart ?? []
  if (keys.length === 0) return []
  return [finding('D015', { keys: keys.join(', ') }, { autoFix: { is: 'restart' } })]
}

export const lookAtTwins = (facts: ConfigFacts): readonly Finding[] => {
  const known = new Map<string, string>()
  return enabledEntries(facts).flatMap(([other, entry]) => {
    const bare = { ...entry, env: null, envFile: null, headers: null }
    const [whole, alike] = [entry, bare].map(each => `${identityOf(each)} ${settingsOf(each)}`)
    const same = known.get(`whole ${whole}`)
    const one = same ?? known.get(`alike ${alike}`)
    if (one === undefined) known.set(`alike ${alike}`, other)
    if (same === undefined) known.set(`whole ${whole}`, other)
    if (one === undefined) return []
    if (same !== undefined) return [finding('D016', { one, other }, { subject: other })]
    return [finding('D016.accounts', { one, other }, { subject: other })]
  })
}

export const lookAtVariables = ({ loaded, waiting, entries, envFile }: ConfigFacts): readonly Finding[] => {
  const unset = (name: string, server: string): Finding =>
    finding('D020', { name, server, envFile: envFile.path }, { subject: server })
  return [
    ...waiting.flatMap(({ name: server, lacks }) => lacks.map(name => unset(name, server))),
    ...loaded.problems.flatMap(({ id, severity, facts: { variable } = {}, key }) => {
      const server = [...entries.keys()].find(each => key.includes(`.${each}.`)) ?? key
      // A warning is about a server in `waiting`.
      return id === 'D020' && severity === 'error' && variable !== undefined ? [unset(variable, server)] : []
    }),
  ]
}

export const lookAtOrigins = (
  { loaded, envFile }: ConfigFacts,
  { values }: ShellFacts,
): readonly Finding[] => {
  const names = new Set(loaded.config?.variables.map(({ name }) => name))
  return Object.entries(envFile.values).flatMap(([name, value]) =>
    names.has(name) && values[name] !== undefined && values[name] !== value
      ? [finding('D021', { name, envFile: envFile.path }, { subject: name })]
      : [],
  )
}

export const lookAtShell = ({ shell, why }: ShellFacts, { envFile }: ConfigFacts): readonly Finding[] =>
  why === undefined ? [] : [finding('D022', { shell, envFile: envFile.path, why })]

export const lookAtNamedFiles = ({ loaded }: ConfigFacts): readonly Finding[] =>
  loaded.problems.flatMap(({ id, file, line, column, key, facts: { path = '', why } = {} }) =>
    id === 'D023'
      ? [finding('D023', { place: `${file}:${line}:${column}`, path, why }, { subject: key })]
      : [],
  )

export const lookAtReach = ({ loaded }: ConfigFacts): readonly Finding[] => {
  const { listen = DEFAULTS.listen, auth } = loaded.config ?? {}
  if (!listen.http || isLoopbackHost(listen.host) || auth !== undefined) return []
  return [finding('D071', { host: listen.host })]
}

/** A service with a port may be meant for other machines. */
export const lookAtServiceReach = (
  { hasPort }: ServiceFacts,
  { loaded }: ConfigFacts,
): readonly Finding[] => {
  const { listen = DEFAULTS.listen } = loaded.config ?? {}
  if (!hasPort || !isLoopbackHost(listen.host)) return []
  return [finding('D071.local', {})]
}
