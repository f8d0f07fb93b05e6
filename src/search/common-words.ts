import { searchWords } from './words.js'

const WORDS = `
again ago all almost alone along already always anybody anyone anything anyway anywhere around away back
bad best better big bit both bring call came care case certain certainly clear come comes current
currently day days different easy else end enough entire even ever everybody everyone everything exact
exactly far few find first five four full gave get gets give given gives go goes going gone good got
great guess half hand happen happened happens hard help hers high hold hour idea keep kept kind knew
know known last late lately later least leave left less life like likely little live long look looked
looking looks lot love made main make makes making man many matter mean means moment month more morning
most move myself name near nearby need needed needs never new next nice night nobody none nothing number
often ok okay old once one ones only open opposite ourselves part people person piece place plain point
possible pretty problem put quick quickly quite rather ready real really rest right room said same saw
say says second see seem seems seen sent set several show shown side similar simple simply since six
small somebody somehow someone something sometimes somewhere soon sort specific still stuff such sure
take taken takes talk tell ten thank thanks thing things think third though thought thousand three
through time times tiny today together told tomorrow tonight took totally toward true try trying turn
twenty two under understand usually wait wanted wants way week weeks well went whatever whenever
wherever whoever whole whose wish wonder word work worked working works world worth wrong year years yes
yesterday yet
`

let stems: ReadonlySet<string> | undefined

/** Returns whether a word from `wordsOf` is common in any conversation and thus a weak hint. */
export const isCommonWord = (word: string): boolean => {
  stems ??= new Set(searchWords(WORDS))
  return stems.has(word)
}
