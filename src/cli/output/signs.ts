/** Variables of an environment. */
export type Variables = Readonly<Record<string, string | undefined>>

/** Whether a variable counts as set (no-color.org). */
export const isSet = (value: string | undefined): boolean => value !== undefined && value !== ''

/** Whether signs beyond ASCII can be shown: the locale counts, as POSIX orders its variables. */
export const hasUtf8 = (env: Variables = process.env, platform = process.platform): boolean => {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find(isSet)
  if (locale !== undefined) return /utf-?8/i.test(locale)
  // Their terminals can, and often set none of these.
  return platform === 'darwin' || isSet(env['WT_SESSION']) || isSet(env['TERM_PROGRAM'])
}

const IN_ASCII: Readonly<Record<string, string>> = { '·': ',', '→': '->', '…': '...', '✓': 'ok', '✗': 'x' }

/** A text for people: our own signs in ASCII where the locale has no others. */
export const shownText = (text: string): string =>
  hasUtf8() ? text : text.replace(/ ·|[→…✓✗]/g, sign => IN_ASCII[sign.trim()] ?? sign)
