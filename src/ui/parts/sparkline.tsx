import type { Slot } from '../../mux/calls/counting/durations.js'
import { many, ms } from './format.js'

const WIDTH = 120
const HEIGHT = 24

/** Describes the last ten minutes for screen readers. */
export const sentenceOf = (slots: readonly Slot[]): string => {
  const calls = slots.reduce((sum, slot) => sum + slot.calls, 0)
  if (calls === 0) return 'No calls in the last ten minutes'
  const errors = slots.reduce((sum, slot) => sum + slot.errors, 0)
  const longest = Math.max(...slots.map(({ longestMs }) => longestMs))
  return `${many(calls, 'call')} in the last ten minutes, ${errors} failed, the longest took ${ms(longest)}`
}

const bars = (slots: readonly Slot[], most: number, valueOf: (slot: Slot) => number): string =>
  slots
    .map((slot, n) => [n, valueOf(slot)] as const)
    .filter(([, value]) => value > 0)
    .map(([n, value]) => {
      const height = Math.max(1.5, (value / most) * HEIGHT)
      return `M${((n + 0.5) * WIDTH) / slots.length} ${HEIGHT}v${-Math.round(height * 10) / 10}`
    })
    .join('')

/** Draws calls and failed calls in slots of ten seconds. */
export const Sparkline = ({ slots }: { readonly slots: readonly Slot[] }) => {
  const most = Math.max(1, ...slots.map(({ calls }) => calls))
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={sentenceOf(slots)}>
      <path class="base" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      <path class="calls" d={bars(slots, most, ({ calls }) => calls)} />
      <path class="errors" d={bars(slots, most, ({ errors }) => errors)} />
    </svg>
  )
}
