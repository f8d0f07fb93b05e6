/** Common abbreviations and their full words. */
const SHORT_FORMS: ReadonlyMap<string, string> = new Map(
  (
    'acct account, addr address, admin administrator, app application, attr attribute, auth ' +
    'authentication, avg average, bg background, cal calendar, calc calculate, cert certificate, cfg ' +
    'configuration, cmd command, col column, conf configuration, config configuration, cred credential, ' +
    'db database, del delete, demo demonstration, dept department, desc description, dest destination, ' +
    'dev development, diff difference, dir directory, doc document, env environment, exec execute, func ' +
    'function, geo geography, idx index, img image, info information, init initialize, js javascript, ' +
    'lang language, lib library, loc location, mgmt management, msg message, notif notification, num ' +
    'number, obj object, org organization, param parameter, perf performance, photo photograph, pic ' +
    'picture, pkg package, prod production, proj project, prop property, pwd password, py python, qty ' +
    'quantity, ref reference, repo repository, req request, resp response, sim simulator, spec ' +
    'specification, stat statistic, sync synchronize, tbl table, temp temporary, tmp temporary, ts ' +
    'typescript, txn transaction, var variable, vid video'
  )
    .split(', ')
    .map(each => each.split(' ') as [short: string, full: string]),
)

/** Returns the stem that a word shares with its plural, its -ing and -ed forms, and its derivations. */
export const stemOf = (word: string): string => {
  const one = singular(word)
  return withoutVowel(withoutEnd(derived(american(SHORT_FORMS.get(one) ?? one))))
}

/** "colour" and "color", "organise" and "organize" are one. */
const american = (word: string): string => {
  if (!word.includes('is') && !word.includes('our')) return word
  return word
    .replace(/([ae]r|al|an|[bm]il|or|on|im)is(?=e|ing|ation)/, '$1iz')
    .replace(/(?<=..)our(?=$|ed|ing|ite)/, 'or')
}

/** Verbs with a noun of the same stem in -ation or -ment. */
const TO_ATION =
  'adapt|authoriz|configur|confirm|document|explor|federat|implement|inform|install|present|transform|valid'
const TO_MENT =
  'adjust|arrange|assign|attach|deploy|develop|enhance|enroll?|improve|invest|manage|pay|replace|require|ship'

/** Suffixes that derive a word, and the ending of its base. */
const ENDS: readonly (readonly [end: RegExp, before: string])[] = [
  [/(?<=.{4})ability$/, 'able'],
  [/(?<=.{3}iz)ation$/, 'e'],
  [new RegExp(`(?<=${TO_ATION})ation$`), ''],
  [new RegExp(`(?<=^(?:${TO_MENT}))ment$`), ''],
  [/(?<=.{4}v)al$/, 'e'],
  [/(?<=.{5})(?<!er|iv)ity$/, ''],
  [/(?<=.{3}(?:er|form))[ae]nce$/, ''],
  [/(?<=.{3}ic)ally$/, ''],
  [/(?<=.{4})(?<!p)ly$/, ''],
]

/** "install" and "installation", "remove" and "removal", "similar" and "similarity" are one. */
const derived = (word: string): string => {
  // Most words have none of these suffixes.
  if (!/(?:ation|ment|val|ity|nce|ly)$/.test(word)) return word
  for (const [end, before] of ENDS) if (end.test(word)) return word.replace(end, before)
  return word
}

const singular = (word: string): string => {
  if (word.length < 4 || !word.endsWith('s') || /(ss|us|is)$/.test(word)) return word
  return /(?:[sxz]|ch|sh)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1)
}

/** At least one vowel must remain: the "ing" of "string" and the "ed" of "shed" are not suffixes. */
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
