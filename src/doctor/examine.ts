import { type ProblemId, rowOf } from '../diagnostics/causes.js'
import { CHECKS, type Check } from './checks.js'
import type { Facts } from './facts.js'
import type { Finding } from './finding.js'

/** The sources of the facts, each called when a check needs it; undefined if unknown. */
export type FactSources = { readonly [Name in keyof Facts]: () => Promise<Facts[Name] | undefined> }

export interface ExamineOptions {
  /** Prefixes of check numbers; empty for all checks. */
  readonly only: readonly string[]
  /** Limits the findings to this server. */
  readonly server: string | undefined
  /** Starts nothing and makes no requests. */
  readonly isOffline: boolean
}

/** A check that ran, and its findings. */
export interface Examined {
  readonly id: ProblemId
  readonly findings: readonly Finding[]
  readonly ms: number
}

/** Runs the checks concurrently. Rejects if gathering facts fails. */
export const examine = async (gather: Gather, options: ExamineOptions): Promise<readonly Examined[]> => {
  const { only, isOffline } = options
  const wanted = CHECKS.filter(
    ({ id, isLive }) =>
      !(isOffline && isLive) && (only.length === 0 || only.some(start => id.startsWith(start.toUpperCase()))),
  )
  const done = await Promise.all(wanted.map(check => made(check, gather, options)))
  return merged(done.filter(each => each !== undefined))
}

const merged = (all: readonly Examined[]): readonly Examined[] => {
  const byId = new Map<ProblemId, Examined>()
  for (const each of all) {
    const { findings = [], ms = 0 } = byId.get(each.id) ?? {}
    byId.set(each.id, {
      id: each.id,
      findings: [...findings, ...each.findings],
      ms: Math.max(ms, each.ms),
    })
  }
  return [...byId.values()]
}

/** Returns a fact, gathering it on first use. */
export type Gather = <Name extends keyof Facts>(name: Name) => Promise<Facts[Name] | undefined>

export const gatherOnce = (sources: FactSources): Gather => {
  const found = new Map<keyof Facts, Promise<unknown>>()
  return async <Name extends keyof Facts>(name: Name) => {
    const known = found.get(name) ?? sources[name]()
    found.set(name, known)
    return (await known) as Facts[Name] | undefined
  }
}

/** Returns undefined if the facts of the check are unknown. */
const made = async (
  { id, needs, look }: Check,
  gather: Gather,
  { server }: ExamineOptions,
): Promise<Examined | undefined> => {
  const startedMs = performance.now()
  const facts = await Promise.all(needs.map(name => gather(name)))
  if (facts.includes(undefined)) return undefined
  const findings = look(facts).filter(({ subject }) => server === undefined || subject === server)
  return { id, findings, ms: Math.round(performance.now() - startedMs) }
}

const RANKS = { error: 0, warn: 1, note: 2 } as const

/** Returns all findings, worst first, then by number. */
export const worstFirst = (all: readonly Examined[]): readonly Finding[] =>
  all
    .flatMap(({ findings }) => findings)
    .sort((one, other) => RANKS[one.level] - RANKS[other.level] || (one.id < other.id ? -1 : 1))

export interface Counts {
  readonly ok: number
  readonly note: number
  readonly warn: number
  readonly error: number
}

export const countsOf = (all: readonly Examined[]): Counts => {
  const levels = all.flatMap(({ findings }) => findings.map(({ level }) => level))
  const count = (level: Finding['level']): number => levels.filter(each => each === level).length
  return {
    ok: all.filter(({ findings }) => findings.length === 0).length,
    note: count('note'),
    warn: count('warn'),
    error: count('error'),
  }
}

/**
 * Returns the document of `doctor --json`: all checks, including those without findings, and the servers of
 * which copies were started.
 */
export const documentOf = (
  all: readonly Examined[],
  isOk: boolean,
  copies: readonly string[] = [],
): object => ({
  version: 1,
  ok: isOk,
  counts: countsOf(all),
  copies,
  checks: all.flatMap(({ id, findings, ms }): object[] =>
    findings.length === 0
      ? [{ id, level: 'ok', subject: '', message: rowOf(id).about ?? '', fix: '', fixable: false, ms }]
      : findings.map(({ level, subject, message, why, fix, autoFix }) => ({
          id,
          level,
          subject,
          message: why === undefined ? message : `${message}: ${why}`,
          fix,
          fixable: autoFix !== undefined,
          ms,
        })),
  ),
})
