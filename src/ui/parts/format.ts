const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

export const bytes = (value: number): string => {
  const power = value < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10))
  const number = value / 1024 ** power
  return `${power === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${UNITS[power] ?? ''}`
}

export const countText = (value: number): string => value.toLocaleString('en')

/** Formats a duration for people: `0.4 ms`, `12 ms`, `1.2 s`, `3 min`, `5 h`, `2 d`. */
export const ms = (value: number | undefined): string => {
  if (value === undefined) return '–'
  if (value < 10) return `${value.toFixed(1)} ms`
  if (value < 1000) return `${Math.round(value)} ms`
  if (value < 10_000) return `${(value / 1000).toFixed(1)} s`
  return age(value)
}

/** Formats a duration without milliseconds. */
export const age = (value: number): string => {
  const seconds = Math.max(0, Math.round(value / 1000))
  if (seconds < 90) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 90) return `${minutes} min`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`
}

export const many = (value: number, word: string): string =>
  `${countText(value)} ${word}${value === 1 ? '' : 's'}`

/** Formats a time of day, with its date if it is not today. */
export const clockTime = (iso: string): string => {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return iso
  const time = at.toLocaleTimeString('en-GB')
  if (at.toDateString() === new Date().toDateString()) return time
  return `${at.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time.slice(0, 5)}`
}
