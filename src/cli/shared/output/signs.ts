/** Environment variables. */
export type Variables = Readonly<Record<string, string | undefined>>

/** Returns whether a variable counts as set (no-color.org). */
export const isSet = (value: string | undefined): boolean => value !== undefined && value !== ''

/** Returns whether the locale can show non-ASCII signs; POSIX defines the order of its variables. */
export const hasUtf8 = (env: Variables = process.env, platform = process.platform): boolean => {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find(isSet)
  if (locale !== undefined) return /utf-?8/i.test(locale)
  // Windows terminals can show them, and often set none of these variables.
  return platform === 'darwin' || isSet(env['WT_SESSION']) || isSet(env['TERM_PROGRAM'])
}

const IN_ASCII: Readonly<Record<string, string>> = { '·': ',', '→': '->', '…': '...', '✓': 'ok', '✗': 'x' }

/** Replaces our own signs with ASCII if the locale has no others. */
export const shownText = (text: string): string =>
  hasUtf8() ? text : text.replace(/ ·|[→…✓✗]/g, sign => IN_ASCII[sign.trim()] ?? sign)
