import type { ServersView } from '../../control/api/views.js'
import type { Slot } from '../../mux/calls/counting/durations.js'
import { hrefOf } from '../live/route.js'
import { isOn, type PageState, problemsOf } from '../live/state.js'
import { FactList } from '../parts/facts.js'
import { age, bytes, countText, many, ms } from '../parts/format.js'
import { Sparkline } from '../parts/sparkline.js'
import { CommandText, Empty } from '../parts/text.js'
import { Failures } from './failures.js'
import { InFlightView } from './in-flight.js'
import { ProblemList } from './problem-list.js'
import { ServerTable } from './servers.js'

/** Adds up the slots of all servers and of requests without a server. @internal */
export const allSlots = (view: ServersView): readonly Slot[] => {
  const all = [view.refused, ...view.servers.filter(isOn).map(({ slots }) => slots)]
  return Array.from({ length: 60 }, (_, n) =>
    all.reduce(
      (sum, slots) => {
        const { calls = 0, errors = 0, sumMs = 0, longestMs = 0 } = slots[n] ?? {}
        return {
          calls: sum.calls + calls,
          errors: sum.errors + errors,
          sumMs: sum.sumMs + sumMs,
          longestMs: Math.max(sum.longestMs, longestMs),
        }
      },
      { calls: 0, errors: 0, sumMs: 0, longestMs: 0 },
    ),
  )
}

/** Returns the number of calls in flight, with the age of the oldest. @internal */
export const inFlightText = (calls: number, oldestMs: number | undefined): string =>
  oldestMs === undefined ? countText(calls) : `${countText(calls)}, oldest ${age(oldestMs)}`

/** Returns the calls in the last six complete slots. @internal */
export const perMinute = (slots: readonly Slot[]): number =>
  slots.slice(-7, -1).reduce((sum, { calls }) => sum + calls, 0)

/** The overview: problems first, then activity. */
export const Overview = ({ state }: { readonly state: PageState }) => {
  const { status, servers } = state
  if (status === undefined || servers === undefined) return <p class="muted">Loading …</p>
  if (servers.servers.length === 0 && servers.problems.length === 0)
    return (
      <Empty title="No server is configured">
        <p>To add a server, or import the servers of your clients:</p>
        <CommandText text="mcp-proxy add NAME -- COMMAND" />
        <CommandText text="mcp-proxy init" />
      </Empty>
    )
  const slots = allSlots(servers)
  const errors = slots.reduce((sum, slot) => sum + slot.errors, 0)
  const hits = Object.values(status.limits).reduce((sum, { hits: one }) => sum + one, 0)
  return (
    <>
      <ProblemList all={problemsOf(servers)} />
      <Failures state={state} />
      <section aria-labelledby="traffic">
        <h3 id="traffic">Traffic</h3>
        <FactList
          all={[
            ['Calls a minute', countText(perMinute(slots))],
            ['Last 10 minutes', <Sparkline slots={slots} />],
            [
              'Failed in 10 min',
              <>
                {countText(errors)}
                {errors > 0 && <a href={hrefOf('calls', '', 'is:failed')}> · show</a>}
              </>,
            ],
            ['In flight', inFlightText(status.calls, state.inFlight[0]?.ms)],
            ['Overhead p99', servers.overheadP99Ms === undefined ? '–' : `≤ ${ms(servers.overheadP99Ms)}`],
            ['Clients', countText(status.sessions)],
            ['Memory', bytes(status.rssBytes)],
            ['Limits reached', hits === 0 ? '–' : <a href={hrefOf('limits')}>{many(hits, 'time')}</a>],
          ]}
        />
      </section>
      <section aria-labelledby="all-servers">
        <h3 id="all-servers">Servers</h3>
        <ServerTable state={state} servers={servers.servers} />
      </section>
      <InFlightView calls={state.inFlight} />
    </>
  )
}
