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
  why === undefined ? [] : [finding('D041', {}, { why })]

export const lookAtAnswer = ({ state, pid, born, socket }: DaemonFacts): readonly Finding[] => {
  if (state !== 'silent') return []
  const why = `it takes connections at ${socket}, but did not answer within 3 s`
  if (pid !== undefined) return [finding('D042', { pid }, { why, autoFix: { is: 'end', pid, born } })]
  return [finding('D042', { pid: 'unknown' }, { why, fix: `lsof ${socket}` })]
}

export const lookAtVersions = ({ status, version, sessions }: DaemonFacts): readonly Finding[] => {
  if (status === undefined) return []
  const installed = version
  const daemon =
    status.version === version
      ? []
      : [
          finding(
            'D043',
            { what: `the daemon, pid ${status.pid},`, running: status.version, installed },
            {
              autoFix: { is: 'restart' },
              ...(status.kept !== undefined && { why: `it is kept by ${status.kept}` }),
            },
          ),
        ]
  const shims = sessions
    .filter(session => session.version !== version && session.client !== 'mcp-proxy doctor')
    .map(({ client = 'a client', pid, version: running }) =>
      finding(
        'D043',
        { what: `the shim of ${client}, pid ${pid},`, running, installed },
        { subject: client, level: 'note', fix: `restart ${client}` },
      ),
    )
  return [...daemon, ...shims]
}

export const lookAtDoubles = ({ doubles }: ProcessFacts, { file }: DaemonFacts): readonly Finding[] =>
  doubles.map(({ pid, born }) => finding('D044', { pid, file }, { autoFix: { is: 'end', pid, born } }))

const OUTDATED = 'is not what would be installed today'

export const lookAtService = ({ file, wrong, isLingering }: ServiceFacts): readonly Finding[] => {
  const about = { subject: file }
  if (wrong.length > 0)
    return [
      finding(
        'D045',
        { what: OUTDATED, file },
        { ...about, why: wrong.join('; '), autoFix: { is: 'service' } },
      ),
    ]
  if (isLingering !== false) return []
  const what = 'ends when you log out'
  return [finding('D045', { what, file }, { ...about, level: 'note', fix: 'loginctl enable-linger' })]
}

export const lookAtPlace = ({ unusable, state, socket }: DaemonFacts): readonly Finding[] => {
  if (unusable !== undefined) return [finding('D046', { path: unusable.path }, { why: unusable.why })]
  return state === 'denied'
    ? [finding('D046', { path: socket }, { why: 'this user may not connect to it' })]
    : []
}

/** A daemon started by clients listens only if the configuration sets a port. */
export const lookAtPort = ({ port, takenBy, isGiven }: PortFacts): readonly Finding[] => {
  if (takenBy === undefined) return []
  const level = isGiven ? 'error' : 'note'
  return [finding('D070', { port, who: takenBy }, { subject: String(port), level })]
}

export const lookAtLimits = ({ status }: DaemonFacts, { loaded }: ConfigFacts): readonly Finding[] =>
  Object.entries(status?.limits ?? {}).flatMap(([limit, reached]) => {
    if (reached === undefined || reached.hits === 0) return []
    const isSet = loaded.config !== undefined && limit in loaded.config.limits
    const fix = isSet ? `raise it: "limits": { "${limit}": … }, or see mcp-proxy daemon logs` : undefined
    return [finding('D080', { limit, count: reached.hits }, { subject: limit, fix })]
  })

export const lookAtOrphans = ({ left }: ProcessFacts): readonly Finding[] =>
  left.map(({ pid, born, command }) =>
    finding('D082', { pid, command }, { autoFix: { is: 'end', pid, born } }),
  )
