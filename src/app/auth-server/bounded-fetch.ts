import { PerMinute } from '../../auth/per-minute.js'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'

const MOST_AT_ONCE = 5
const MOST_PER_MINUTE = 20

/**
 * A `fetch` for documents of clients (AX-22): five at a time, twenty in a minute. oidc-provider's own guard,
 * which it adds to a request, is left out: `visit` has a better one.
 */
export const boundedFetch = (visit: typeof fetch, clock: Clock): typeof fetch => {
  const perMinute = new PerMinute(clock)
  let running = 0
  return async (url, init = {}) => {
    if (running >= MOST_AT_ONCE || perMinute.count('') >= MOST_PER_MINUTE) {
      throw new Fault('overloaded', 'too many documents of clients are being fetched')
    }
    perMinute.add('')
    running += 1
    try {
      const { headers, method, signal } = init
      return await visit(url, {
        redirect: 'manual',
        ...(headers && { headers }),
        ...(method && { method }),
        signal: signal ?? null,
      })
    } finally {
      running -= 1
    }
  }
}
