/** Words that say nothing about what a tool does. */
const STOP_WORDS = new Set(
  (
    'a about also am an and another any are as at be been being but by can could did do does done down each ' +
    'every for from had has have he her here him his how i if in into is it its just let may me might much ' +
    'must my no not now of off on onto or other our out over own per please shall she should so some than ' +
    'that the their them then there these they this those to too until up upon us use using very via want ' +
    'was we were what when where whether which while will with within without would you your'
  ).split(' '),
)

/** The most words of one text that count: a peer may write a book. */
const WORDS_MAX = 400
/** Longer ones are no words. */
const WORD_CHARS = 40
/** Written words whose stems are remembered; then all are forgotten. */
const STEMS_MAX = 20_000

const stems = new Map<string, string>()

/** A run of letters or of digits; capitals begin a word, also the last of several ("HTTPServer"). */
const WORD = /\p{Lu}{2,}s(?!\p{Ll})|\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{N}+/gu
/** The same where nothing but ASCII stands, which is several times as fast. */
const ASCII_WORD = /[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g
const PLURAL_INITIALS = /^\p{Lu}{2,}s$/u
/** Letters beyond ASCII: punctuation and pictures between them need no Unicode. */
const OTHER_LETTERS = /[\u00aa-\u1fff\u2c00-\ud7ff\uf900-\uffff]/

/** The stems of the words in a text, in their order, without those that say nothing. */
export const wordsOf = (text: string): string[] => {
  const found = OTHER_LETTERS.test(text) ? text.normalize('NFKC').match(WORD) : text.match(ASCII_WORD)
  const words: string[] = []
  for (const each of found ?? []) {
    if (words.length >= WORDS_MAX) break
    const stem = stems.get(each) ?? learnt(each)
    if (stem !== '') words.push(stem)
  }
  return words
}

/** The stem of a word as it was written; empty if it says nothing. */
const learnt = (written: string): string => {
  if (written.length > WORD_CHARS) return ''
  const word = (PLURAL_INITIALS.test(written) ? written.slice(0, -1) : written).toLowerCase()
  const stem = STOP_WORDS.has(word) ? '' : stemOf(word)
  if (stems.size >= STEMS_MAX) stems.clear()
  stems.set(written, stem)
  return stem
}

/** The form that a word shares with its plural, and with itself in -ing and -ed. @internal */
export const stemOf = (word: string): string => withoutVowel(withoutEnd(singular(word)))

const singular = (word: string): string => {
  if (word.length < 4 || !word.endsWith('s') || /(ss|us|is)$/.test(word)) return word
  return /(?:[sxz]|ch|sh)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1)
}

/** At least one vowel must be left: "string" and "shed" have no ending. */
const withoutEnd = (word: string): string => {
  if (/..[aeiou].*[crst]t?ion$/.test(word) && /(?:[aeicu]t|ss|rs)ion$/.test(word)) return word.slice(0, -3)
  const bare = /^(.*[aeiouy].*)(?:ing|(?<!e)ed)$/.exec(word)?.[1]
  if (bare === undefined || bare.length < 3 || word === 'embed') return word
  return bare.length > 3 && /([bdgmnprt])\1$/.test(bare) ? bare.slice(0, -1) : bare
}

/** "create" and "creating", "query" and "queries", "cookie" and "cookies" are one. */
const withoutVowel = (word: string): string => {
  if (word.length < 4) return word
  if (word.endsWith('e')) return word.slice(0, -1)
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}i` : word
}
