import { RefusedCredentials } from '../../auth/refused-credentials.js'
import type { EndpointContext } from './http.js'

/** Counts the credentials refused at one port, and audits those that are not audited as refused requests. */
export const refusalsOf = ({ log, onGrant }: Pick<EndpointContext, 'log' | 'onGrant'>): RefusedCredentials =>
  new RefusedCredentials(log, ({ client, server, address, why }) => {
    if (client !== undefined || server !== undefined)
      onGrant?.({ event: 'refused', client, server, address, why })
  })
