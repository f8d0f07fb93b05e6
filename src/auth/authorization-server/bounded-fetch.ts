import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { NOT_VISITED } from '../../transport/http/guarded-fetch.js'
import { PerMinute } from '../per-minute.js'

const MOST_AT_ONCE = 5
const MOST_PER_MINUTE = 20

/**
 * Returns a `fetch` for documents of clients: at most five at a time and twenty per minute. Drops the guard
 * that oidc-provider adds to a request, because `visit` has a better one.
 */
export const boundedFetch = (visit: typeof fetch, clock: Clock): typeof fetch => {
  const perMinute = new PerMinute(clock)
  let running = 0
  return async (url, init = {}) => {
    if (running >= MOST_AT_ONCE || perMinute.count('') + running >= MOST_PER_MINUTE) {
      throw new Fault('overloaded', 'too many client documents are being fetched')
    }
    running += 1
    try {
      const { headers, method, signal } = init
      const response = await visit(url, {
        redirect: 'manual',
        ...(headers && { headers }),
        ...(method && { method }),
        signal: signal ?? null,
      })
      perMinute.add('')
      return response
    } catch (thrown) {
      // Refused addresses do not count, since anyone can name any number of them.
      if (Fault.from(thrown).data?.['reason'] !== NOT_VISITED) perMinute.add('')
      throw thrown
    } finally {
      running -= 1
    }
  }
}
