import { hrefOf, type ViewName } from '../live/route.js'
import { withToggled } from './query.js'

export interface Chip {
  readonly label: string
  /** What it adds to the filter. */
  readonly condition: string
  /** Numbers after the label. */
  readonly count: string
}

/** Buttons that add conditions to the filter of a view, or remove them. */
export const Chips = ({
  view,
  filter,
  all,
}: {
  readonly view: ViewName
  readonly filter: string
  readonly all: readonly Chip[]
}) => (
  <div class="chips" role="group" aria-label="Quick filters">
    {all.map(({ label, condition, count }) => (
      <button
        key={condition}
        type="button"
        aria-pressed={filter.split(/\s+/).includes(condition)}
        onClick={() => location.replace(hrefOf(view, '', withToggled(filter, condition)))}
      >
        {label} <span class="muted">{count}</span>
      </button>
    ))}
  </div>
)

/** Maximum chips for servers; the filter finds the others. */
const SERVERS = 16

/** Returns a chip for each server, those with the most rows first. */
export const serverChips = (
  names: readonly (string | undefined)[],
  countOf: (name: string, rows: number) => string = (_, rows) => String(rows),
): readonly Chip[] => {
  const rows = new Map<string, number>()
  for (const name of names) if (name !== undefined) rows.set(name, (rows.get(name) ?? 0) + 1)
  return [...rows]
    .filter(([name]) => !/\s/.test(name))
    .sort(([, one], [, other]) => other - one)
    .slice(0, SERVERS)
    .map(([name, count]) => ({ label: name, condition: `server:${name}`, count: countOf(name, count) }))
}
