import picocolors from 'picocolors'

type Variables = Readonly<Record<string, string | undefined>>
type Stream = Pick<NodeJS.WriteStream, 'isTTY'>

const isSet = (value: string | undefined): boolean => value !== undefined && value !== ''

/** Whether to colour what goes to a stream: NO_COLOR (no-color.org), then FORCE_COLOR, then the terminal. */
export const hasColor = (stream: Stream, env: Variables = process.env): boolean => {
  if (isSet(env['NO_COLOR'])) return false
  const forced = env['FORCE_COLOR']
  if (isSet(forced)) return forced !== '0' && forced !== 'false'
  return stream.isTTY && env['TERM'] !== 'dumb'
}

/** Whether signs beyond ASCII can be shown: the locale counts, as POSIX orders its variables. @internal */
export const hasUtf8 = (env: Variables = process.env, platform = process.platform): boolean => {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find(isSet)
  if (locale !== undefined) return /utf-?8/i.test(locale)
  // Their terminals can, and often set none of these.
  return platform === 'darwin' || isSet(env['WT_SESSION']) || isSet(env['TERM_PROGRAM'])
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
