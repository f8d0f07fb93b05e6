import type { OnGrantEvent } from '../../auth/authorization-server/grant-events.js'
import { RefusedCredentials } from '../../auth/refused-credentials.js'
import type { Logger } from '../../kernel/logger.js'

/** Counts the refused credentials of a port. Audits the ones without a refused request. */
export const refusalsOf = ({
  log,
  onGrant,
}: {
  readonly log: Logger
  readonly onGrant?: OnGrantEvent | undefined
}): RefusedCredentials =>
  new RefusedCredentials(log, ({ client, server, address, why }) => {
    if (client !== undefined || server !== undefined)
      onGrant?.({ event: 'refused', client, server, address, why })
  })
