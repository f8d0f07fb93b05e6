import type { Slot } from '../../mux/calls/counting/durations.js'
import { countText, ms } from './format.js'
import { sentenceOf } from './sparkline.js'

const WIDTH = 600
const HEIGHT = 90
const BAR = 0.7

interface Series {
  readonly kind: 'calls' | 'errors' | 'longest'
  readonly valueOf: (slot: Slot) => number
}

/** Returns a bar for each slot, as a path. */
const barsOf = (slots: readonly Slot[], most: number, { valueOf }: Series): string => {
  const width = WIDTH / slots.length
  return slots
    .map((slot, n) => [n * width, valueOf(slot)] as const)
    .filter(([, value]) => value > 0)
    .map(([x, value]) => {
      const height = Math.max(2, (value / most) * HEIGHT)
      return `M${x.toFixed(1)} ${HEIGHT}v-${height.toFixed(1)}h${(width * BAR).toFixed(1)}V${HEIGHT}z`
    })
    .join('')
}

/** The first, the middle and the last time of the slots. */
const timesOf = (nowMs: number, spanMs: number): readonly string[] =>
  [spanMs, spanMs / 2].map(agoMs => new Date(nowMs - agoMs).toLocaleTimeString('en-GB').slice(0, 5))

const Plot = ({
  title,
  label,
  slots,
  all,
  scaleOf,
  times,
}: {
  readonly title: string
  readonly label: string
  readonly slots: readonly Slot[]
  readonly all: readonly Series[]
  readonly scaleOf: (value: number) => string
  readonly times: readonly string[]
}) => {
  const most = Math.max(0, ...all.flatMap(({ valueOf }) => slots.map(valueOf)))
  return (
    <figure class="plot">
      <figcaption>
        {title} <span class="muted">at most {scaleOf(most)}</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <path class="base" d={`M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}`} />
        {all.map(series => (
          <path key={series.kind} class={series.kind} d={barsOf(slots, most || 1, series)} />
        ))}
      </svg>
      <div class="scale" aria-hidden="true">
        <span>{scaleOf(most)}</span>
        <span>0</span>
      </div>
      <div class="times" aria-hidden="true">
        {times.map(time => (
          <span key={time}>{time}</span>
        ))}
        <span>now</span>
      </div>
    </figure>
  )
}

const CALLS: readonly Series[] = [
  { kind: 'calls', valueOf: ({ calls }) => calls },
  { kind: 'errors', valueOf: ({ errors }) => errors },
]
const LONGEST: readonly Series[] = [{ kind: 'longest', valueOf: ({ longestMs }) => longestMs }]

/** The calls of the last ten minutes and their durations, with a scale and times. */
export const Charts = ({
  slots,
  slotMs,
  nowMs,
}: {
  readonly slots: readonly Slot[]
  readonly slotMs: number
  readonly nowMs: number
}) => {
  const times = timesOf(nowMs, slots.length * slotMs)
  const label = sentenceOf(slots)
  const per = `in ${ms(slotMs).replace('.0', '')}`
  return (
    <div class="plots">
      <Plot
        title={`Calls ${per}, failed in red`}
        {...{ label, slots, times, all: CALLS, scaleOf: countText }}
      />
      <Plot title={`Longest call ${per}`} {...{ label, slots, times, all: LONGEST, scaleOf: ms }} />
    </div>
  )
}
