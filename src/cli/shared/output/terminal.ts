import picocolors from 'picocolors'
import { hasUtf8, isSet, type Variables } from './signs.js'

/** Node leaves `isTTY` undefined for files and pipes. */
interface Stream {
  readonly isTTY?: boolean
}

/** Returns whether to colour a stream: NO_COLOR (no-color.org), then FORCE_COLOR, then the terminal. */
export const hasColor = (stream: Stream, env: Variables = process.env): boolean => {
  if (isSet(env['NO_COLOR'])) return false
  const forced = env['FORCE_COLOR']
  if (isSet(forced)) return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && env['TERM'] !== 'dumb'
}

/** Returns a terminal's columns. Some terminals report 0 for an unknown width. */
export const columnsOf = ({ columns }: Pick<NodeJS.WriteStream, 'columns'>): number =>
  columns > 0 ? columns : USUAL_COLUMNS

const USUAL_COLUMNS = 80

/** Returns the sign for success (✓) or failure (✗) on stderr. */
export const mark = (isGood: boolean): string => {
  const [good, bad] = hasUtf8() ? ['✓', '✗'] : ['ok', 'x']
  const { green, red } = picocolors.createColors(hasColor(process.stderr))
  return isGood ? green(good) : red(bad)
}
