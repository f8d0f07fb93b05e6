import { setTimeout as delay } from 'node:timers/promises'
import { asking, occupantOf } from '../../../app/control/seat.js'
import { ask } from '../../../shim/ask.js'
import { CliError, EXIT } from '../../verb.js'
import { daemonPlace, startedDaemon } from '../daemon/place.js'
import { stopped } from '../daemon/run.js'

const AGAIN_MS = 30_000
const POLL_MS = 100

/**
 * Has the daemon of a configuration start again. One that a manager of services keeps is started by that;
 * one that a person runs in a terminal is theirs to start. Rejects with a CliError.
 */
export const restarted = async (config: string | undefined, kept: string | undefined): Promise<void> => {
  const where = daemonPlace(config)
  if (kept === 'serve') {
    const mend = 'end it where it runs, and start it again'
    throw new CliError(EXIT.failure, 'a person runs this proxy in a terminal', { mend })
  }
  if (kept === undefined || kept === 'keep') {
    await stopped(where)
    await startedDaemon(where, kept === 'keep')
    return
  }
  const before = await occupantOf(where.place)
  await ask(asking(where.place), '/v1/hand-over', '')
  for (const endMs = performance.now() + AGAIN_MS; performance.now() < endMs; ) {
    await delay(POLL_MS)
    const now = await occupantOf(where.place).catch(() => undefined)
    if (now !== undefined && now.pid !== before?.pid) return
  }
  throw new CliError(EXIT.failure, `${kept} has not started the proxy again`, {
    mend: 'mcp-proxy service status',
  })
}
