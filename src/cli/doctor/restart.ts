import { cause } from '../../diagnostics/explain.js'
import { restarted } from '../daemon/run.js'
import { daemonPlace } from '../shared/daemon-place.js'
import { causeError, EXIT } from '../shared/verb.js'

/** Restarts the daemon of a configuration unless a person runs it in a terminal. */
export const restartedUnlessServed = async (
  config: string | undefined,
  kept: string | undefined,
): Promise<void> => {
  if (kept === 'serve') {
    throw causeError(EXIT.failure, cause('cli.in-terminal', {}))
  }
  await restarted(daemonPlace(config))
}
