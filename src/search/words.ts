import { stemOf } from './stem.js'

/** Words without meaning for the search. */
const STOP_WORDS = new Set(
  (
    'a about also am an and another any are as at be been being but by can could did do does done down each ' +
    'every for from had has have he her here him his how i if in into is it its just let may me might much ' +
    'must my no not now of off on onto or other our out over own per please shall she should so some than ' +
    'that the their them then there these they this those to too until up upon us use using very via want ' +
    'was we were what when where whether which while will with within without would you your'
  ).split(' '),
)

/** Stop words that do not change a phrase: "turn it off" is "turn off". */
const FILLERS = new Set(
  (
    'a am an and any are be been being he her here him his i is it its just me my our please she so some than ' +
    'that the their them then these they this those us was we were would you your'
  ).split(' '),
)

/** Maximum number of words of one text that count; peers wrote it. */
const WORDS_MAX = 400
/** Longer sequences are not words. */
const WORD_CHARS = 40
/** Maximum number of words with cached stems; the cache is cleared when full. */
const STEMS_MAX = 20_000

const stems = new Map<string, string>()

/** Hyphenated words whose parts mean nothing alone. */
const JOINED = '(?:[Tt]o-[Dd]os?|[Ee]-[Mm]ails?)'
/** A run of letters or of digits. A capital begins a word, as does the last of several ("HTTPServer"). */
const WORD = new RegExp(
  `(?<!\\p{L})${JOINED}(?!\\p{Ll})|` +
    String.raw`\p{Lu}{2,}s(?!\p{Ll})|\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{M}]+|\p{N}+`,
  'gu',
)
/** The same for ASCII text, several times as fast. */
const ASCII_WORD = new RegExp(
  `(?<![A-Za-z])${JOINED}(?![a-z])|[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+`,
  'g',
)
const PLURAL_INITIALS = /^\p{Lu}{2,}s$/u
/** Letters beyond ASCII. Punctuation and pictures between them need no Unicode matching. */
const OTHER_LETTERS = /[\u00aa-\u1fff\u2c00-\ud7ff\uf900-\uffff]/

/** Returns the stems of the words in a text, in order, without stop words. */
export const searchWords = (text: string): string[] =>
  wordsIn(text, written => stems.get(written) ?? stemOfWritten(written))

/** Returns the stems and the stop words that can change a phrase; at most `most` of them. */
export const phraseWordsOf = (text: string, most?: number): string[] => wordsIn(text, phraseWord, most)

/** Returns whether a word from `phraseWordsOf` is a stop word. */
export const isStopWord = (word: string): boolean => STOP_WORDS.has(word)

const wordsIn = (text: string, stemIn: (written: string) => string, most = WORDS_MAX): string[] => {
  const found = OTHER_LETTERS.test(text) ? text.normalize('NFKC').match(WORD) : text.match(ASCII_WORD)
  const words: string[] = []
  for (const each of found ?? []) {
    if (words.length >= most) break
    const stem = stemIn(each)
    if (stem !== '') words.push(stem)
  }
  return words
}

const phraseWord = (written: string): string => {
  const word = written.toLowerCase()
  if (STOP_WORDS.has(word)) return FILLERS.has(word) ? '' : word
  return stems.get(written) ?? stemOfWritten(written)
}

/** Returns the stem of a written word; empty for a stop word. */
const stemOfWritten = (written: string): string => {
  if (written.length > WORD_CHARS) return ''
  const word = (PLURAL_INITIALS.test(written) ? written.slice(0, -1) : written).toLowerCase().replace('-', '')
  const stem = STOP_WORDS.has(word) ? '' : stemOf(word)
  if (stems.size >= STEMS_MAX) stems.clear()
  stems.set(written, stem)
  return stem
}
