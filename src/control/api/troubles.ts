import type { Problem } from '../../config/types.js'
import { type Cause, cause, type Explained, explain } from '../../diagnostics/explain.js'
import { withErrorLine } from '../../kernel/error-lines.js'
import { DEGRADED } from '../../kernel/limit-counters.js'
import type { ProxyStatus, ServerStatus } from '../../telemetry/status/status.js'
import type { ControlApiContext } from './context.js'
import { serverLines, serverOfProblem } from './places.js'

/** A problem as the page shows it. */
export interface Trouble {
  /** `meant` problems appear only on the page of their server. */
  readonly level: 'bad' | 'odd' | 'meant'
  /** The server, or a part of the proxy. */
  readonly about: string
  /** Undefined if it is not about a server. */
  readonly server?: string
  /** The view with the details. */
  readonly view: 'servers' | 'configuration' | 'calls' | 'limits'
  /** The problem in a word or two. */
  readonly kind: string
  readonly words: string
  /** The command that fixes or explains it. */
  readonly command: string
}

/** Returns all problems of the proxy, its configuration file and its servers, worst first. */
export const troublesIn = (context: ControlApiContext): readonly Trouble[] => {
  const status = context.status()
  const fromFile = context.configStatus?.()?.disabled ?? []
  const lines = serverLines(context)
  const waiting = new Set(status.servers.flatMap(({ name, state }) => (state === 'waiting' ? name : [])))
  const all = [
    ...proxyTroubles(status),
    ...context.problems().flatMap(problem => {
      const server = serverOfProblem(problem, lines)
      // Its server reports the missing variable itself.
      const isTold = problem.facts?.variable !== undefined && server !== undefined && waiting.has(server)
      return isTold ? [] : fileTrouble(problem, server)
    }),
    ...status.servers.flatMap(serverTroubles),
    ...[...context.disabled()].map(name => disabledTrouble(cause('disabled.here', { server: name }, name))),
    ...fromFile.map(name => disabledTrouble(cause('disabled.file', { server: name }, name))),
  ]
  return (['bad', 'odd', 'meant'] as const).flatMap(level => all.filter(each => each.level === level))
}

const textsOf = ({ label = '', message, command, fix }: Explained) => ({
  kind: label,
  words: message,
  command: command ?? fix,
})

const proxyTroubles = ({ state, pressure, config }: ProxyStatus): readonly Trouble[] => {
  const bad = (about: string, view: Trouble['view'], found: Cause): Trouble => ({
    ...{ level: 'bad', about, view },
    ...textsOf(explain(found)),
  })
  return [
    ...(state === 'draining' ? [bad('proxy', 'calls', cause('proxy.draining', {}))] : []),
    ...(pressure >= DEGRADED ? [bad('proxy', 'limits', cause('proxy.memory', { pressure }))] : []),
    ...(config?.lastReload?.result === 'refused'
      ? [bad('configuration', 'configuration', cause('D014', { file: config.file }))]
      : []),
  ]
}

/** Returns a problem of the configuration file with its place. An error about a server is on its page too. */
const fileTrouble = (
  { severity, file, line, column, message, fix: advice }: Problem,
  server: string | undefined,
): Trouble => {
  const code = severity === 'error' ? 'misconfigured' : 'misconfigured.warning'
  const texts = textsOf(explain(cause(code, { message, advice })))
  return {
    ...texts,
    level: severity === 'error' ? 'bad' : 'odd',
    ...(server === undefined ? { about: 'configuration', view: 'configuration' } : aboutServer(server)),
    words: `${texts.words} (${file}${line > 0 ? `:${line}:${column}` : ''})`,
  }
}

/** An administrator disabled it deliberately in the file. */
const disabledTrouble = (found: Cause<'disabled.here' | 'disabled.file'>): Trouble => ({
  ...aboutServer(found.subject),
  level: found.code === 'disabled.file' ? 'meant' : 'odd',
  ...textsOf(explain(found)),
})

const aboutServer = (server: string) => ({ about: server, server, view: 'servers' as const })

/** States in which a server accepts calls. */
const PRESENT: ReadonlySet<string> = new Set(['ready', 'draining', 'idle'])

const serverTroubles = (status: ServerStatus): readonly Trouble[] => {
  const { name, state, why, lastError, cause: found, stderr } = status
  const remarks = status.remarks.map(
    (remark): Trouble => ({
      ...aboutServer(name),
      level: remark.kind === 'list' ? 'bad' : 'odd',
      ...textsOf(explain(remark.cause)),
      words: `it ${remark.message}`,
    }),
  )
  if (found === undefined || PRESENT.has(state)) return remarks
  const texts = textsOf(explain(found))
  const kind = found.code === 'D036' ? state : texts.kind
  const absence: Trouble = {
    ...{ ...aboutServer(name), ...texts, level: 'bad', kind },
    words: withErrorLine(why ?? lastError?.message ?? texts.words, stderr),
  }
  return [absence, ...remarks.filter(remark => remark.kind !== kind)]
}
