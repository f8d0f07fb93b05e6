// The patterns of stiff English that bin/lint-prose.mjs counts. A finding is a hint: rewrite the sentence for
// its reader.

/** The share of sentences with a finding that is accepted, in percent. */
export const LIMITS = { docs: 4, comments: 7, messages: 2, titles: 4 }

/** The number of words from which a sentence is too long. */
const LONG = { docs: 31, comments: 33, messages: 27, titles: 33 }

const PATTERNS = [
  ['vague subject', /\b(?:whoever|whomever|whatever|nobody|somebody|whom)\b/i],
  [
    'saying instead of reporting',
    /\b(?:tells? (?:of|it|them|him|what|who|that)|told (?:of|what|so|that)|says? (?:so|of|why|what|which|whether|how|where|when|nothing)|said (?:of|what|so|by)|hears? (?:of|no)|heard of)\b/i,
  ],
  [
    'clause instead of a noun',
    /\b(?:what|which) (?:is|was|are|were) (?:not|no|left|due|there|under|new about|sent|said|told|asked|kept|held|known|shown|read|written|taken|given|wrong with)\b|\b(?:that|those) (?:of|which|who|that)\b|\bwhat (?:stands|comes|goes|came|went|others|peers|clients|servers|people|users) /i,
  ],
  [
    '"is no X" instead of "is not an X"',
    /\b(?:is|are|was|were|has|have) (?:no|none|nobody|nothing) (?!longer|more|one\b|such|effect|way)\w+/i,
  ],
  [
    'old word',
    /\b(?:mends?|mended|anew|beside|in (?:the )?place of|for want of|thereby|thereof|wherein|hitherto|lest|of its own accord|by itself alone|forthwith|amiss|not well|how things (?:are|stand)|under way|goes? on with|going on with|come in|let in|stands? for itself)\b/i,
  ],
  [
    'quantity as a clause',
    /\b(?:so|as) (?:many|much|long|few) (?:of|failures|calls|times|tools|bytes|messages|that it|as are|as it)\b|\bhardly any\b|\bas good as\b/i,
  ],
  [
    'inverted order',
    /^(?:Only|Never|Of|To|By|From|With|In|On|At|For|Where|Whether|Behind|Beside|Before|After) [^,.]{3,60} (?:is|are|was|were|does|do|has|have|can|may|must|comes?|goes|stands?) (?:the|a|an|it|they|we|that|no)\b/,
  ],
]

const QUESTION_START =
  /^(?:What|Who|Whom|Whose|Where|How|Whether|When|Why|Which|So|That which|Those)\b(?!.*\?$)/

/** Standards and public trackers, whose numbers a reader can look up. */
const PRIVATE_CODE = /\b(?!(?:AES|CVE|ECMA|HTTP|ISO|RFC|SEP|SHA|SSH|UTF|UTC)-)[A-Z]{2,4}-\d+\b/

/** Returns the names of the patterns that a sentence of this kind matches. */
export const stiffnessOf = (kind, sentence) => {
  const names = PATTERNS.filter(([, pattern]) => pattern.test(sentence)).map(([name]) => name)
  if (kind === 'comments' && QUESTION_START.test(sentence)) names.push('starts with a question word')
  if (sentence.split(' ').length >= LONG[kind]) names.push('too long')
  return names
}

/** Returns the first code in a text that only its authors can look up; none is accepted. */
export const privateCodeIn = text => PRIVATE_CODE.exec(text)?.[0]

/** Splits a text into sentences of at least four words; code becomes the word CODE. */
export const sentencesOf = text =>
  text
    .replace(/`[^`]*`/g, 'CODE')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\b(e\.g|i\.e|etc|vs|No)\./g, '$1')
    .split(/(?<=[.!?])\s+(?=[A-Z`"(])|\n\s*\n|\s*\|\s*|(?<=:)\s*\n/)
    .map(sentence => sentence.replace(/\s+/g, ' ').trim())
    .filter(sentence => sentence.split(' ').length >= 4)
