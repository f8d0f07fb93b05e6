import type { ConfigFacts, DaemonFacts, PortFacts, ProcessFacts, ServiceFacts, TrialFacts } from '../facts.js'
import { type Finding, finding } from '../finding.js'

export const lookAtLeftovers = ({
  state,
  socket,
  isLockDead,
  lock,
  drafts = [],
}: DaemonFacts): readonly Finding[] =>
  [...(state === 'dead' ? [socket] : []), ...(isLockDead ? [lock] : []), ...drafts].map(path =>
    finding('D040', { path }, { subject: path, autoFix: { is: 'remove', path } }),
  )

export const lookAtStart = ({ why }: TrialFacts): readonly Finding[] =>
  why === undefined ? [] : [finding('D041', { why })]

export const lookAtAnswer = ({ state, pid, born, socket }: DaemonFacts): readonly Finding[] => {
  if (state !== 'silent') return []
  if (pid === undefined) return [finding('D042.unknown', { socket })]
  return [finding('D042', { pid, socket }, { autoFix: { is: 'end', pid, born } })]
}

export const lookAtVersions = ({ status, version, sessions }: DaemonFacts): readonly Finding[] => {
  if (status === undefined) return []
  const installed = version
  const { kept, pid: own, version: now } = status
  const restart = { autoFix: { is: 'restart' } } as const
  const facts = { pid: own, running: now, installed }
  const daemon =
    kept === undefined ? finding('D043', facts, restart) : finding('D043.kept', { ...facts, kept }, restart)
  const shims = sessions
    .filter(session => session.version !== version && session.client !== 'mcp-proxy doctor')
    .map(({ client = 'a client', pid, version: running }) =>
      finding('D043.shim', { client, pid, running, installed }, { subject: client }),
    )
  return [...(now === version ? [] : [daemon]), ...shims]
}

export const lookAtDoubles = ({ doubles }: ProcessFacts, { file }: DaemonFacts): readonly Finding[] =>
  doubles.map(({ pid, born }) => finding('D044', { pid, file }, { autoFix: { is: 'end', pid, born } }))

export const lookAtService = ({ file, wrong, isLingering }: ServiceFacts): readonly Finding[] => {
  const about = { subject: file }
  if (wrong.length > 0)
    return [finding('D045', { file, why: wrong.join('; ') }, { ...about, autoFix: { is: 'service' } })]
  return isLingering === false ? [finding('D045.no-linger', { file }, about)] : []
}

export const lookAtPlace = ({ unusable, state, socket }: DaemonFacts): readonly Finding[] => {
  if (unusable !== undefined) return [finding('D046', unusable)]
  return state === 'denied' ? [finding('D046.denied', { path: socket })] : []
}

/** A daemon started by clients listens only if the configuration sets a port. */
export const lookAtPort = ({ port, takenBy, isGiven }: PortFacts): readonly Finding[] => {
  if (takenBy === undefined) return []
  return [finding(isGiven ? 'D070' : 'D070.unused', { port, who: takenBy }, { subject: String(port) })]
}

export const lookAtLimits = ({ status }: DaemonFacts, { loaded }: ConfigFacts): readonly Finding[] =>
  Object.entries(status?.limits ?? {}).flatMap(([limit, reached]) => {
    if (reached === undefined || reached.hits === 0) return []
    const isSet = loaded.config !== undefined && limit in loaded.config.limits
    return [finding(isSet ? 'D080.set' : 'D080', { limit, count: reached.hits }, { subject: limit })]
  })

export const lookAtOrphans = ({ left }: ProcessFacts): readonly Finding[] =>
  left.map(({ pid, born, command }) =>
    finding('D082', { pid, command }, { autoFix: { is: 'end', pid, born } }),
  )
