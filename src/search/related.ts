// The generator of type declarations reads no other declaration file.
// eslint-disable-next-line @typescript-eslint/triple-slash-reference
/// <reference path="./text-files.d.ts" />
import SYNONYMS from './synonyms.txt'
import { isStopWord, phraseWordsOf, searchWords } from './words.js'

/** Weight of a synonym, relative to a related word. */
const SYNONYM = 0.8
/** Maximum number of words inside a phrase, and before a stop word of it: "turn all of it off". */
const BETWEEN = { words: 1, stopWords: 3 }

/** Words that may match instead of a word, with their weights up to 1. */
export type RelatedWords = ReadonlyMap<string, number>

/** A question with the words that may match instead of its own. */
export interface ExpandedQuestion {
  /** Each word from `wordsOf` once, with its related words, alone or in a phrase. */
  readonly words: ReadonlyMap<string, RelatedWords>
  /** The related words of each phrase of several words. */
  readonly phrases: readonly RelatedWords[]
}

/** The words of a phrase after its first one, and the related words. */
interface Phrase {
  readonly rest: readonly string[]
  readonly related: RelatedWords
}

/** An entry of the file. */
interface Entry {
  /** Words and phrases that a question may hold. */
  readonly keys: readonly string[]
  /** Returns the related words of a key; in an entry without a colon, all other keys. */
  readonly relatedTo: (key: string) => readonly string[]
  readonly weight: number
}

const entryOf = (line: string): Entry => {
  const [words = '', synonyms] = line.split(':')
  if (synonyms !== undefined)
    return { keys: synonyms.split(','), relatedTo: () => searchWords(words), weight: SYNONYM }
  const keys = words.split(',')
  return {
    keys,
    relatedTo: key => keys.flatMap(other => (other === key ? [] : searchWords(other))),
    weight: 1,
  }
}

/** Indexes entries by the first words of their keys; the rest is parsed on demand. */
const byFirstWord = (): ReadonlyMap<string, readonly Entry[]> => {
  const all = new Map<string, Entry[]>()
  const lines = SYNONYMS.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  for (const entry of lines.map(entryOf)) {
    for (const key of entry.keys) {
      const [first = ''] = phraseWordsOf(key, 1)
      const entries = all.get(first)
      if (entries === undefined) all.set(first, [entry])
      else if (entries.at(-1) !== entry) entries.push(entry)
    }
  }
  return all
}

/** Returns the phrases of entries that begin with a word. */
const phrasesIn = (entries: readonly Entry[], first: string): readonly Phrase[] => {
  const all = new Map<string, { readonly rest: readonly string[]; readonly related: Map<string, number> }>()
  for (const { keys, relatedTo, weight } of entries) {
    for (const key of keys) {
      const [own, ...rest] = phraseWordsOf(key)
      if (own !== first || (rest.length === 0 && isStopWord(first))) continue
      const id = rest.join(' ')
      const { related } = all.get(id) ?? { related: new Map<string, number>() }
      for (const word of relatedTo(key)) related.set(word, Math.max(weight, related.get(word) ?? 0))
      all.set(id, { rest, related })
    }
  }
  return [...all.values()]
}

let entriesOf: ReturnType<typeof byFirstWord> | undefined
const parsed = new Map<string, readonly Phrase[]>()

const phrasesFrom = (word: string): readonly Phrase[] => {
  entriesOf ??= byFirstWord()
  const entries = entriesOf.get(word)
  if (entries === undefined) return []
  const phrases = parsed.get(word) ?? phrasesIn(entries, word)
  parsed.set(word, phrases)
  return phrases
}

/** Adds the related words of a question's words and phrases. */
export const expandQuestion = (question: string): ExpandedQuestion => {
  const asked = phraseWordsOf(question)
  const words = new Map(searchWords(question).map(word => [word, new Map<string, number>()] as const))
  const phrases = new Map<string, RelatedWords>()
  for (const [at, word] of asked.entries()) {
    for (const { rest, related } of phrasesFrom(word)) {
      if (!follows(asked, at, rest)) continue
      const phrase = [word, ...rest]
      for (const each of phrase) addRelated(words.get(each), each, related)
      if (rest.length > 0) phrases.set(phrase.join(' '), related)
    }
  }
  return { words, phrases: [...phrases.values()] }
}

const addRelated = (all: Map<string, number> | undefined, word: string, related: RelatedWords): void => {
  for (const [other, weight] of related)
    if (other !== word) all?.set(other, Math.max(weight, all.get(other) ?? 0))
}

/** Returns whether the rest of a phrase follows its first word, in order. */
const follows = (asked: readonly string[], first: number, rest: readonly string[]): boolean => {
  let at = first
  for (const word of rest) {
    const most = isStopWord(word) ? BETWEEN.stopWords : BETWEEN.words
    const next = asked.indexOf(word, at + 1)
    if (next < 0 || next - at - 1 > most) return false
    at = next
  }
  return true
}
