import { redactServer } from '../../config/read/secrets.js'
import type { ServerConfig, WaitingServer } from '../../config/types.js'
import type { CauseCode } from '../../diagnostics/causes.js'
import { type Cause, cause } from '../../diagnostics/explain.js'
import type { Fault } from '../../kernel/faults.js'
import { loginReasonOf } from '../../model/login.js'

/** The causes that keep a server unavailable. */
export type AbsenceCode = Extract<CauseCode, `D03${0 | 1 | 3 | 5 | 6}${string}` | 'D020.server'>

/** Returns the cause of a fault that keeps a server unreachable. */
export const causeOfFault = (server: ServerConfig, why: Fault): Cause<AbsenceCode> => {
  const { name } = server
  const facts = { server: name, why: why.message }
  const because = (
    code: 'D031' | 'D031.exited' | 'D031.hangs' | 'D035' | 'D035.lost' | 'D035.hangs' | 'D036',
  ) => cause(code, facts, name)
  if (loginReasonOf(why) !== undefined) return because('D036')
  if (server.transport.kind === 'stdio') {
    if (why.data?.['doctor'] === 'D030') return missing(server, why.message)
    if (why.code === 'timeout') return because('D031.hangs')
    return because(why.data?.['reason'] === 'server_exited' ? 'D031.exited' : 'D031')
  }
  const status = why.data?.['httpStatus']
  if (typeof status === 'number') return cause('D035.status', { ...facts, status }, name)
  if (why.code === 'timeout') return because('D035.hangs')
  return because(why.code === 'disconnected' ? 'D035.lost' : 'D035')
}

const missing = (server: ServerConfig, why: string): Cause<AbsenceCode> => {
  const { name, transport } = redactServer(server)
  const command = transport.kind === 'stdio' ? transport.command : ''
  return cause('D030', { server: name, command, why }, name)
}

/** Returns the cause of a server that waits for its variables. */
export const waitingCause = ({ name, lacks }: WaitingServer): Cause<AbsenceCode> =>
  cause('D020.server', { names: lacks.join(', ') }, name)
