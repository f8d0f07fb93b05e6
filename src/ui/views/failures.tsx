import { hrefOf } from '../live/route.js'
import type { CallRow, PageState } from '../live/state.js'
import { clockTime, countText } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { serverFilter } from '../parts/query.js'
import { isFailed } from './calls.js'

/** Failed calls of one item with the same outcome. */
interface Failure {
  readonly last: CallRow
  readonly times: number
}

const SPAN_MS = 10 * 60_000
/** Maximum rows. */
const MOST = 8

/** Returns the failures of the last ten minutes by owner, the most frequent first. @internal */
export const failuresIn = (calls: readonly CallRow[], nowMs: number): readonly Failure[] => {
  const found = new Map<string, Failure>()
  for (const call of calls) {
    if (!isFailed(call) || Date.parse(call.at) < nowMs - SPAN_MS) continue
    const key = [call.server, call.name ?? call.method, call.outcome].join('\n')
    found.set(key, { last: call, times: (found.get(key)?.times ?? 0) + 1 })
  }
  return [...found.values()].sort((one, other) => other.times - one.times)
}

/** Lists who failed in the last ten minutes, how often and why, with links to the calls. */
export const Failures = ({ state }: { readonly state: PageState }) => {
  const all = failuresIn(state.calls ?? [], state.now)
  if (all.length === 0) return null
  const messages = new Map(state.errors?.map(({ id, message }) => [id, message]))
  return (
    <section aria-labelledby="failures">
      <h3 id="failures">Failed calls</h3>
      <ul class="lines failures">
        {all.slice(0, MOST).map(({ last, times }) => (
          <li key={last.n}>
            <a class="number" href={hrefOf('calls', '', filterFor(last))}>
              {countText(times)} ×
            </a>
            <span class="name">
              {last.server !== undefined && (
                <>
                  <a href={hrefOf('servers', last.server)}>{last.server}</a> ›{' '}
                </>
              )}
              {last.name ?? last.method}
            </span>
            <Lamp word={last.outcome} />
            <span class="why-not">
              {last.errorId !== undefined && <a href={hrefOf('errors', last.errorId)}>{last.errorId}</a>}{' '}
              {messages.get(last.errorId ?? '')?.slice(0, 400)}
            </span>
            <span class="muted">{clockTime(last.at)}</span>
          </li>
        ))}
      </ul>
      {all.length > MOST && (
        <p>
          <a href={hrefOf('calls', '', 'is:failed')}>All failed calls</a>
        </p>
      )}
    </section>
  )
}

const filterFor = ({ server, name, method }: CallRow): string =>
  ['is:failed', server && serverFilter(server), name ?? method].filter(Boolean).join(' ')
