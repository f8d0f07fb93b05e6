import picocolors from 'picocolors'
import { hasUtf8, isSet, type Variables } from './signs.js'

type Stream = Pick<NodeJS.WriteStream, 'isTTY'>

/** Whether to colour what goes to a stream: NO_COLOR (no-color.org), then FORCE_COLOR, then the terminal. */
export const hasColor = (stream: Stream, env: Variables = process.env): boolean => {
  if (isSet(env['NO_COLOR'])) return false
  const forced = env['FORCE_COLOR']
  if (isSet(forced)) return forced !== '0' && forced !== 'false'
  return stream.isTTY && env['TERM'] !== 'dumb'
}

/** Columns of a terminal; some say 0, and mean that they do not know. */
export const columnsOf = ({ columns }: Pick<NodeJS.WriteStream, 'columns'>): number =>
  columns > 0 ? columns : USUAL_COLUMNS

const USUAL_COLUMNS = 80

/** The sign before what went well (✓), or not (✗), on stderr. */
export const mark = (isGood: boolean): string => {
  const [good, bad] = hasUtf8() ? ['✓', '✗'] : ['ok', 'x']
  const { green, red } = picocolors.createColors(hasColor(process.stderr))
  return isGood ? green(good) : red(bad)
}
