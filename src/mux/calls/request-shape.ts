import { Fault } from '../../kernel/faults.js'
import { kindOf, memberOf } from '../../kernel/json/text.js'
import type { NamedAt } from '../routes.js'
import type { CallRecord } from './call-record.js'

/** Maximum length of a URI. */
const URI_CHARS = 8192
/** RFC 3986 §3.1. */
const SCHEME = /^[a-z][a-z0-9+.-]*:/i

/** Rejects requests that no revision allows. Throws a Fault `invalid-params`. */
export const checkShape = ({ method, params, exposed }: CallRecord, by: NamedAt['by']): void => {
  if (by === 'uri' && (exposed.length > URI_CHARS || !SCHEME.test(exposed)))
    throw new Fault('invalid-params', `${method}: uri must be a URI of at most ${URI_CHARS} characters`)
  if (by !== 'tool') return
  const given = params && memberOf(params, 'arguments')
  if (given !== undefined && !['object', 'null'].includes(kindOf(given)))
    throw new Fault('invalid-params', `${method}: arguments must be an object`)
}
