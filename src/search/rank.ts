import { isCommonWord } from './common-words.js'
import { expandQuestion, type RelatedWords } from './related.js'
import type { ToolIndex } from './tool-index.js'

// The numbers were found with `bench/search`, which shows the effect of a change.

/** BM25 saturation: repeated occurrences of a word count less and less. */
const K1 = 1.2
/** Factor for a tool that matches none of the other words of a wording. */
const FEW_WORDS = 0.4
/** Weights of words that users say for a tool's own words. */
interface RelatedShares {
  /** A related word, relative to the word itself. */
  readonly related: number
  /** Each further related word, relative to the best: several of them distinguish one tool from others. */
  readonly further: number
  /** The related words of a phrase, counted once more as a word of their own. */
  readonly phrase: number
}

const ALONE: RelatedShares = { related: 0.4, further: 0, phrase: 0 }
/** For a question in words that tools do not use. */
const LOST: RelatedShares = { related: 0.6, further: 0.3, phrase: 0.5 }
/** For one wording among several: the others express the meaning, too. */
const AMONG: RelatedShares = { related: 0.2, further: 0, phrase: 0 }
/** A question is lost if the best tool matches less than this share of its words. */
const LOST_BELOW = 0.6
/** Minimum weight of a word in a tool for a related match: most passing mentions are chance. */
const RELATED_WEIGHT = 0.7
/** Weight of a common word, relative to other words. */
const COMMON = 0.6
/** Bonus for tools whose neighbors on the same server match too; without other wordings only. */
const NEIGHBOURS = { count: 3, share: 0.15 }
/** Rank constant of the fusion (reciprocal rank). */
const FUSED_PLACES = 20
/** Weights of the wordings of a tool, best rank first. */
const FUSED_SHARES = [1, 1, 0.9, 0.8, 0.7]
/** Extra weight of a wording that one tool matches completely. */
const SURE = { more: 300, power: 10 }
/** Number of places per ranking that the fusion considers. */
const DEPTH = 50

/** A search query with its options. */
export interface Question {
  readonly query: string
  /** Other wordings of the query. */
  readonly also: readonly string[]
  readonly limit: number
}

/** Maximum number of words with cached matches; the cache is cleared when full. */
const WORDS_MAX = 5000

/** Ranks the tools of several servers. Pure except for its cache of words. */
export class ToolRanking {
  readonly #words: Words
  readonly #nameOf: (tool: number) => string

  /** Tools are numbered across all parts. `nameOf` breaks ties. */
  constructor(parts: readonly ToolIndex[], nameOf: (tool: number) => string) {
    this.#words = new Words(parts)
    this.#nameOf = nameOf
  }

  /** Returns the numbers of the best matching tools, best first. */
  find({ query, also, limit }: Question): readonly number[] {
    if (also.length > 0) return this.#fused([query, ...also]).slice(0, limit)
    const found = scored(this.#words, query, ALONE)
    const { scores } = found.met < LOST_BELOW ? scored(this.#words, query, LOST) : found
    raiseNeighbours(scores, this.#words.parts)
    return best(scores, this.#nameOf, limit)
  }

  #fused(wordings: readonly string[]): readonly number[] {
    const rankings = wordings.map((wording, at) => {
      const { scores, met, most } = scored(this.#words, wording, at === 0 ? ALONE : AMONG)
      const order = best(scores, this.#nameOf, DEPTH)
      const top = scores[order[0] ?? 0] ?? 0
      // An exact name in the query stays first, regardless of the other wordings.
      const weight = (top / most) * (at === 0 ? 1 + SURE.more * met ** SURE.power : 1)
      return { order, shares: order.map(tool => (scores[tool] ?? 0) / top), weight }
    })
    return fused(rankings, this.#nameOf)
  }
}

interface Scored {
  readonly scores: Float32Array
  /** The share of the words that the best tool matches itself. */
  readonly met: number
  /** The score of a tool with nothing but these words in its name. */
  readonly most: number
}

/** The tools with a word, by their numbers across all parts, and the score from this word alone. */
interface Found {
  readonly tools: Uint32Array
  readonly scores: Float32Array
  /** Inverse document frequency of the word. */
  readonly rarity: number
}

/** Looks up words in all parts; cached, since questions share most of their related words. */
class Words {
  readonly size: number
  readonly parts: readonly ToolIndex[]
  readonly #found = new Map<string, Found>()

  constructor(parts: readonly ToolIndex[]) {
    this.parts = parts
    this.size = parts.reduce((sum, part) => sum + part.size, 0)
  }

  find(word: string): Found {
    let found = this.#found.get(word)
    if (found === undefined) {
      found = this.#lookUp(word)
      if (this.#found.size >= WORDS_MAX) this.#found.clear()
      this.#found.set(word, found)
    }
    return found
  }

  #lookUp(word: string): Found {
    const postings = this.parts.map(part => part.posting(word))
    const count = postings.reduce((sum, posting) => sum + (posting?.tools.length ?? 0), 0)
    const rarity = Math.log(1 + (this.size - count + 0.5) / (count + 0.5))
    const [tools, scores] = [new Uint32Array(count), new Float32Array(count)]
    let [first, at] = [0, 0]
    for (const [index, part] of this.parts.entries()) {
      const posting = postings[index]
      const found = posting?.tools.length ?? 0
      for (let i = 0; i < found; i++) {
        const weight = posting?.weights[i] ?? 0
        tools[at] = first + (posting?.tools[i] ?? 0)
        scores[at] = rarity * saturated(weight)
        at += 1
      }
      first += part.size
    }
    return { tools, scores, rarity }
  }
}

/** BM25F over the fields of `ToolIndex`, in which a related word may match as well. */
const scored = (all: Words, wording: string, shares: RelatedShares): Scored => {
  const { words, phrases } = expandQuestion(wording)
  const [scores, best] = [new Float32Array(all.size), new Float32Array(all.size)]
  const [met, own] = [new Float32Array(all.size), new Float32Array(all.size)]
  let [most, weights] = [0, 0]
  for (const [word, related] of words) {
    const found = all.find(word)
    const weight = isCommonWord(word) ? COMMON : 1
    most += (K1 + 1) * found.rarity
    weights += weight
    for (const tool of found.tools) add(own, tool, 1)
    const touched = raise(best, found, { share: weight, further: 0, least: 0 })
    touched.push(...raiseRelated(all, best, related, { ...shares, related: weight * shares.related }))
    for (const tool of touched) add(met, tool, weight)
    settle(scores, best, touched)
  }
  if (shares.phrase > 0) {
    const ofPhrase = { ...shares, related: shares.phrase * shares.related }
    for (const related of phrases) settle(scores, best, raiseRelated(all, best, related, ofPhrase))
  }
  for (let tool = 0; tool < all.size; tool++)
    scores[tool] = (scores[tool] ?? 0) * (FEW_WORDS + (1 - FEW_WORDS) * shareOf(met, tool, weights))
  return { scores, met: shareOf(own, topOf(scores), words.size), most }
}

/** Raises the best scores of tools with related words; returns the tools that had no score. */
const raiseRelated = (
  all: Words,
  best: Float32Array,
  words: RelatedWords,
  { related, further }: RelatedShares,
): number[] => {
  const touched: number[] = []
  for (const [other, share] of words)
    touched.push(...raise(best, all.find(other), { share: related * share, further, least: RELATED_WEIGHT }))
  return touched
}

/** Adds the best scores of one word to the total, and resets them. */
const settle = (scores: Float32Array, best: Float32Array, touched: readonly number[]): void => {
  for (const tool of touched) {
    add(scores, tool, best[tool] ?? 0)
    best[tool] = 0
  }
}

/** A question names a server's subject more often than the action of one of its tools. */
const raiseNeighbours = (scores: Float32Array, parts: readonly ToolIndex[]): void => {
  let first = 0
  for (const { size } of parts) {
    const own = scores.subarray(first, first + size)
    const best = Float32Array.from(own).sort().slice(-NEIGHBOURS.count)
    const more = (NEIGHBOURS.share * best.reduce((sum, score) => sum + score, 0)) / NEIGHBOURS.count
    for (const [tool, score] of own.entries()) if (score > 0) own[tool] = score + more
    first += size
  }
}

interface Raise {
  readonly share: number
  readonly further: number
  /** Minimum weight of the word in a tool. */
  readonly least: number
}

/** Raises the best scores of tools with enough weight for a word; returns the tools that had no score. */
const raise = (best: Float32Array, { tools, scores, rarity }: Found, how: Raise): number[] => {
  const touched: number[] = []
  const leastScore = rarity * saturated(how.least)
  for (let at = 0; at < tools.length; at++) {
    const tool = tools[at] ?? 0
    const before = best[tool] ?? 0
    const score = scores[at] ?? 0
    if (score < leastScore) continue
    if (before === 0) touched.push(tool)
    const own = how.share * score
    best[tool] = Math.max(own, before) + how.further * Math.min(own, before)
  }
  return touched
}

/** Repeated occurrences of a word count less and less. */
const saturated = (weight: number): number => (weight * (K1 + 1)) / (weight + K1)

const add = (sums: Float32Array, at: number, more: number): void => {
  sums[at] = (sums[at] ?? 0) + more
}

const shareOf = (counts: Float32Array, at: number, all: number): number =>
  (counts[at] ?? 0) / Math.max(1, all)

const topOf = (scores: Float32Array): number => {
  let top = 0
  for (let tool = 1; tool < scores.length; tool++) if ((scores[tool] ?? 0) > (scores[top] ?? 0)) top = tool
  return top
}

/** Returns the tools with the best scores, best first. */
const best = (scores: Float32Array, nameOf: (tool: number) => string, limit: number): number[] => {
  const found: number[] = []
  const isBefore = (one: number, other: number): boolean => {
    const more = (scores[one] ?? 0) - (scores[other] ?? 0)
    return more > 0 || (more === 0 && byName(one, other, nameOf) < 0)
  }
  for (let tool = 0; tool < scores.length; tool++) {
    if (scores[tool] === 0 || (found.length >= limit && !isBefore(tool, found[limit - 1] ?? 0))) continue
    const at = found.findIndex(other => isBefore(tool, other))
    found.splice(at === -1 ? found.length : at, 0, tool)
    if (found.length > limit) found.pop()
  }
  return found
}

const byName = (one: number, other: number, nameOf: (tool: number) => string): number =>
  nameOf(one) < nameOf(other) ? -1 : 1

interface Ranking {
  readonly order: readonly number[]
  /** The scores, relative to the best. */
  readonly shares: readonly number[]
  readonly weight: number
}

/** Fuses rankings by reciprocal rank and score, half each; the best wordings of each tool count most. */
const fused = (rankings: readonly Ranking[], nameOf: (tool: number) => string): number[] => {
  const values = new Map<number, number[]>()
  for (const { order, shares, weight } of rankings) {
    for (const [place, tool] of order.entries()) {
      const value = (weight * (FUSED_PLACES / (FUSED_PLACES + place) + (shares[place] ?? 0))) / 2
      const known = values.get(tool)
      if (known === undefined) values.set(tool, [value])
      else known.push(value)
    }
  }
  const sums = new Map([...values].map(([tool, each]) => [tool, sumOf(each)]))
  const sum = (tool: number): number => sums.get(tool) ?? 0
  return [...sums.keys()].sort((one, other) => sum(other) - sum(one) || byName(one, other, nameOf))
}

const sumOf = (values: number[]): number =>
  values
    .sort((one, other) => other - one)
    .reduce((sum, value, at) => sum + value * (FUSED_SHARES[at] ?? 0), 0)
