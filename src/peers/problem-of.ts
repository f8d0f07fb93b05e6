import type { Fault } from '../kernel/faults.js'
import type { ProblemId } from '../kernel/problem-table.js'
import { loginReasonOf } from '../model/login.js'
import type { ServerOptions } from './dial.js'

/** The number of what keeps a server from being asked, as docs/doctor.md has it; a fault may know its own. */
export const problemOf = ({ isProcess }: Pick<ServerOptions, 'isProcess'>, why: Fault): ProblemId => {
  const known = why.data?.['doctor']
  if (typeof known === 'string') return known as ProblemId
  if (loginReasonOf(why) !== undefined) return 'D036'
  return isProcess ? 'D031' : 'D035'
}
