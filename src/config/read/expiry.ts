const DAY = /^\d{4}-\d{2}-\d{2}$/
const DAY_MS = 24 * 60 * 60_000

/** Returns the end of a day in UTC, or a time, in milliseconds; NaN if the text is neither. */
export const endOf = (text: string): number => {
  if (DAY.test(text)) return Date.parse(text) + DAY_MS
  return /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN
}
