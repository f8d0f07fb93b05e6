import type { ServersView } from '../../control/api/views.js'
import type { ServerRemark } from '../../telemetry/status/server-remarks.js'
import type { ProxyStatus } from '../../telemetry/status/status.js'
import { hrefOf } from './route.js'
import { type AnyServer, isOn, type ServerRow } from './state.js'

/** A problem, with the command that fixes or explains it. */
export interface PageTrouble {
  /** `meant` problems appear only on the page of their server. */
  readonly level: 'bad' | 'odd' | 'meant'
  /** The server, or a part of the proxy. */
  readonly about: string
  /** The problem in a word or two. */
  readonly kind: string
  readonly words: string
  readonly command: string
  readonly href: string
}

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string =>
  /^[\w.@:/-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

/** Patterns of connection errors; the first match applies. */
const LOSSES: readonly (readonly [fits: RegExp, kind: string, command: string])[] = [
  [/not found \(ENOENT\)|permission denied/i, 'not found', 'doctor --server'],
  [/\b404\b/, 'HTTP 404', 'doctor --server'],
  [/no answer|timed out|in time|did not answer/i, 'hangs', 'logs'],
  [/exited|killed|closed its/i, 'exited', 'logs'],
]

const REMARKS: Readonly<Record<ServerRemark['kind'], string>> = {
  noise: 'logs',
  slow: 'why',
  hangs: 'logs',
  flapping: 'logs',
  limit: 'why',
  list: 'why',
}

const commandFor = (verb: string, name: string): string => `mcp-proxy ${verb} ${quoted(name)}`

const UNTIL = 'it is disabled until its entry in the file changes'

/** Returns the problems of a server, worst first. */
export const troublesOf = (server: AnyServer): readonly PageTrouble[] => {
  const { name } = server
  const about = { about: name, href: hrefOf('servers', name) }
  if (!isOn(server)) {
    // The administrator disabled it deliberately.
    const [level, words] =
      server.where === 'file'
        ? (['meant', 'it is disabled in the configuration file'] as const)
        : (['odd', UNTIL] as const)
    return [{ ...about, level, kind: 'disabled', words, command: commandFor('enable', name) }]
  }
  const remarks = server.remarks.map(
    ({ kind, message }): PageTrouble => ({
      ...about,
      ...{ level: kind === 'list' ? 'bad' : 'odd', kind, words: `it ${message}` },
      command: commandFor(REMARKS[kind], name),
    }),
  )
  const absence = absenceOf(server)
  if (absence === undefined) return remarks
  return [{ ...about, level: 'bad', ...absence }, ...remarks.filter(({ kind }) => kind !== absence.kind)]
}

/** States in which a server accepts calls. */
const PRESENT = new Set(['ready', 'draining', 'idle'])

/** Returns the reason why a server is unavailable, if it is. */
const absenceOf = (server: ServerRow): Omit<PageTrouble, 'level' | 'about' | 'href'> | undefined => {
  const { name, state, failures } = server
  const words = server.why ?? server.lastError?.message ?? ''
  if (PRESENT.has(state) || (state === 'starting' && failures === 0)) return undefined
  if (state === 'waiting') return { kind: state, words, command: waitingFor(words) }
  if (state === 'failed' || state === 'backoff' || state === 'starting') {
    const [, kind, verb] = LOSSES.find(([fits]) => fits.test(words)) ?? UNREACHABLE
    return { kind, words, command: commandFor(verb, name) }
  }
  return { kind: state, words, command: commandFor('auth login', name) }
}

const UNREACHABLE = [/./, 'unreachable', 'doctor --server'] as const

const waitingFor = (why: string): string =>
  why.startsWith('D020') ? 'mcp-proxy status --env' : 'mcp-proxy connect --workspace DIR'

/** Returns the problems of the configuration file with their places. */
const problemsOf = ({ problems }: ServersView): readonly PageTrouble[] =>
  problems.map(({ severity, file, line, column, key, message, fix }) => ({
    level: severity === 'error' ? 'bad' : 'odd',
    about: key.startsWith('mcpServers.') ? (key.split('.')[1] ?? key) : 'configuration',
    kind: severity === 'error' ? 'misconfigured' : 'configuration',
    words: `${message}. ${fix} (${file}${line > 0 ? `:${line}:${column}` : ''})`,
    command: 'mcp-proxy check',
    href: hrefOf('configuration'),
  }))

/** The level of memory pressure at which the health check reports degraded. */
const DEGRADED = 2

const proxyTroubles = ({ state, pressure, config }: ProxyStatus): readonly PageTrouble[] => {
  const all: readonly (Omit<PageTrouble, 'level'> & { readonly is: boolean })[] = [
    {
      is: state === 'draining',
      ...{ about: 'proxy', kind: 'draining', words: 'it is shutting down and refuses new calls' },
      ...{ command: 'mcp-proxy status', href: hrefOf('calls') },
    },
    {
      is: pressure >= DEGRADED,
      ...{ about: 'proxy', kind: 'memory', words: `memory is short (level ${pressure} of 4)` },
      ...{ command: 'mcp-proxy doctor', href: hrefOf('limits') },
    },
    {
      is: config?.lastReload?.result === 'refused',
      ...{ about: 'configuration', kind: 'reload refused', words: 'the previous configuration stays active' },
      ...{ command: 'mcp-proxy check', href: hrefOf('configuration') },
    },
  ]
  return all.filter(({ is }) => is).map(trouble => ({ ...trouble, level: 'bad' }))
}

/** Returns all problems, worst first. */
export const troubles = (
  status: ProxyStatus | undefined,
  servers: ServersView | undefined,
): readonly PageTrouble[] => {
  const all = [
    ...(status === undefined ? [] : proxyTroubles(status)),
    ...(servers === undefined ? [] : [...problemsOf(servers), ...servers.servers.flatMap(troublesOf)]),
  ]
  return [...all.filter(({ level }) => level === 'bad'), ...all.filter(({ level }) => level === 'odd')]
}
