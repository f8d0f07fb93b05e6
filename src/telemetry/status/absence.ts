import { redactServer } from '../../config/read/secrets.js'
import type { ServerConfig, WaitingServer } from '../../config/types.js'
import type { CauseCode } from '../../diagnostics/causes.js'
import { type Cause, cause } from '../../diagnostics/explain.js'
import type { Fault } from '../../kernel/faults.js'
import { SPEAKS_HTTP } from '../../kernel/machine/socket-path.js'
import { SESSION_LOST } from '../../model/failure.js'
import { loginReasonOf, NEEDS_CREDENTIALS } from '../../model/login.js'
import { connectionCause } from './connection-cause.js'

/** The causes that keep a server unavailable. */
export type AbsenceCode = Extract<CauseCode, `D03${0 | 1 | 3 | 5 | 6}${string}` | 'D020.server'>

/** Returns the cause of a fault that keeps a server unreachable. */
export const causeOfFault = (server: ServerConfig, why: Fault): Cause<AbsenceCode> => {
  const { name } = server
  const facts = { server: name, why: why.message }
  if (loginReasonOf(why) !== undefined) return cause('D036', facts, name)
  if (server.transport.kind !== 'stdio') return remoteCause(name, why)
  if (why.data?.['doctor'] === 'D030') return missing(server, why.message)
  if (why.code === 'timeout') return cause('D031.hangs', facts, name)
  return cause(why.data?.['reason'] === 'server_exited' ? 'D031.exited' : 'D031', facts, name)
}

type StatedCode = `D035.${'session' | 'http' | 'credentials'}`

const BY_REASON: Readonly<Partial<Record<string, StatedCode>>> = {
  [SESSION_LOST]: 'D035.session',
  [SPEAKS_HTTP]: 'D035.http',
  [NEEDS_CREDENTIALS]: 'D035.credentials',
}

const remoteCause = (name: string, why: Fault): Cause<AbsenceCode> => {
  const facts = { server: name, why: why.message }
  if (why.remote === 'certificate') return cause('D035.certificate', facts, name)
  const code = BY_REASON[String(why.data?.['reason'])]
  if (code !== undefined) return cause(code, facts, name)
  const status = why.data?.['httpStatus']
  if (why.remote === 'gateway' || why.remote === 'page') return cause(`D035.${why.remote}`, facts, name)
  if (typeof status === 'number' && why.remote === 'reason')
    return cause('D035.reason', { ...facts, status }, name)
  if (typeof status === 'number') return cause('D035.status', { ...facts, status }, name)
  return cause(transportCode(why), { ...facts, ...NO_FACTS }, name)
}

const transportCode = (why: Fault) => {
  if (why.code === 'timeout') return 'D035.hangs'
  return why.code === 'disconnected' ? 'D035.lost' : (connectionCause(why) ?? 'D035')
}

/** Facts of causes that only doctor finds. */
const NO_FACTS = { status: 0, url: '', reason: '' }

const missing = (server: ServerConfig, why: string): Cause<AbsenceCode> => {
  const { name, transport } = redactServer(server)
  const command = transport.kind === 'stdio' ? transport.command : ''
  return cause('D030', { server: name, command, why }, name)
}

/** Returns the cause of a server that waits for its variables. */
export const waitingCause = ({ name, lacks }: WaitingServer): Cause<AbsenceCode> =>
  cause('D020.server', { names: lacks.join(', ') }, name)
