import { restarted } from '../daemon/run.js'
import { daemonPlace } from '../shared/daemon-place.js'
import { CliError, EXIT } from '../shared/verb.js'

/** Restarts the daemon of a configuration unless a person runs it in a terminal. */
export const restartedUnlessServed = async (
  config: string | undefined,
  kept: string | undefined,
): Promise<void> => {
  if (kept === 'serve') {
    const fix = 'end it where it runs, and start it again'
    throw new CliError(EXIT.failure, 'a person runs this proxy in a terminal', { fix })
  }
  await restarted(daemonPlace(config))
}
