// Characters without a visible form, and unassigned ones: general categories Cc, Cf, Co, Cn, Cs, Zl and Zp,
// every space except U+0020, and `Default_Ignorable_Code_Point`.
const HIDDEN =
  '[\\p{Cc}\\p{Cf}\\p{Co}\\p{Cn}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]|(?! )\\p{Zs}'

const ALL = new RegExp(HIDDEN, 'gu')
const ALL_AND_MARKUP = new RegExp(`${HIDDEN}|[\`<>]`, 'gu')

/** Writes each UTF-16 unit of a text as `\uXXXX`. */
export const escapeUnits = (text: string): string =>
  Array.from(
    { length: text.length },
    (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('')

/**
 * Writes hidden characters except line feeds as `\uXXXX`, so that a JSON text shows them and keeps its
 * meaning.
 */
export const showHidden = (text: string): string =>
  text.replace(ALL, sign => (sign === '\n' ? sign : escapeUnits(sign)))

/** Writes hidden characters, backticks and angle brackets of a foreign text as `\uXXXX`. */
export const escapeForeign = (text: string): string => text.replace(ALL_AND_MARKUP, escapeUnits)

/** Returns the hidden characters of a text except line feeds and tabs, each once, such as `U+200B`. */
export const hiddenCodePoints = (text: string): readonly string[] => [
  ...new Set(
    (text.match(ALL) ?? [])
      .filter(sign => sign !== '\n' && sign !== '\t')
      .map(sign => `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`),
  ),
]
