import type { CallsView } from '../../control/api/views.js'
import { ms } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'

type InFlightCall = CallsView['underWay'][number]

/** Maximum calls shown; the others are counted. */
const MOST = 20

const PLACES: Readonly<Record<string, string>> = {
  proxy: 'in the proxy',
  waiting: 'waiting for its server',
  server: 'at its server',
}

/** Lists the calls in flight, oldest first, with the stage of each. */
export const InFlightView = ({ calls }: { readonly calls: readonly InFlightCall[] }) => {
  const oldest = [...calls].sort((one, other) => other.ms - one.ms)
  return (
    <section aria-labelledby="in-flight">
      <h3 id="in-flight">In flight</h3>
      {calls.length === 0 && <p class="muted">No calls in flight.</p>}
      <ul class="lines">
        {oldest.slice(0, MOST).map((call, n) => (
          <li key={n}>
            <Lamp word={call.where} show={PLACES[call.where] ?? call.where} />
            <span class="number">{ms(call.ms)}</span>
            <span class="name">
              {call.server === undefined ? '' : `${call.server} › `}
              {call.name ?? call.method}
            </span>
            <span class="muted">{call.clientName ?? `client ${call.client}`}</span>
          </li>
        ))}
      </ul>
      {calls.length > MOST && <p class="muted">and {calls.length - MOST} more</p>}
    </section>
  )
}
