import { Fault } from '../../kernel/faults.js'
import { shortName } from '../../kernel/secrets/mask.js'
import type { Call } from '../../model/links.js'

/** Makes the Fault of a method that its client does not have. */
export const noMethod = ({ method }: Pick<Call, 'method'>): Fault =>
  new Fault('unknown-method', `Method not found: ${shortName(method, 128)}`)
