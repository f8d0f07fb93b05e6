import { CliError, EXIT } from '../../verb.js'
import { daemonPlace } from '../daemon/place.js'
import { restarted } from '../daemon/run.js'

/** Has the daemon of a configuration start again; one that a person runs in a terminal is theirs. */
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
