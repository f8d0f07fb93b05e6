const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** A number, or a string with a number and a unit, that passed the schema. */
export type Quantity = number | string

/** Converts a quantity with one of these units. */
export const inUnits = (quantity: Quantity, units: Readonly<Record<string, number>>): number => {
  if (typeof quantity === 'number') return Math.round(quantity)
  const [, number = '', unit = ''] = /^([\d.]+)([A-Za-z]+)$/.exec(quantity) ?? []
  return Math.round(Number(number) * (units[unit] ?? Number.NaN))
}

/** A duration that passed the schema, in milliseconds; `Infinity` for "off". */
export const durationMs = (duration: Quantity): number =>
  duration === 'off' ? Number.POSITIVE_INFINITY : inUnits(duration, TIME_UNITS)
