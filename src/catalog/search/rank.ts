import { isEveryday } from './everyday.js'
import { type Kin, withKin } from './kin.js'
import type { ToolIndex } from './tool-index.js'

// The numbers were found with `bench/search`: what a change does is told there.

/** How soon more of the same word stops to count. */
const K1 = 1.2
/** What counts of a tool that has none of the other words of a wording. */
const FEW_WORDS = 0.4
/** How much words count that people use in place of others. */
interface Kinship {
  /** A kindred word, beside the word itself. */
  readonly kin: number
  /** Each further one, beside the best: several of them tell one tool from others. */
  readonly further: number
  /** What stands for a phrase, once more as if it were a word of its own. */
  readonly phrase: number
}

const ALONE: Kinship = { kin: 0.4, further: 0, phrase: 0 }
/** A question that is in words which tools do not use. */
const LOST: Kinship = { kin: 0.6, further: 0.3, phrase: 0.5 }
/** Other wordings say what is meant, too. */
const AMONG: Kinship = { kin: 0.2, further: 0, phrase: 0 }
/** With fewer of its words in any one tool, a question is lost. */
const LOST_BELOW = 0.6
/** What a word of a tool must weigh to be met by a kindred one: most of what stands in passing is chance. */
const KIN_WEIGHT = 0.7
/** How much a word of any talk counts beside one that is not. */
const EVERYDAY = 0.6
/** How much a tool gains if others of its server fit too; other wordings say better what is wanted. */
const NEIGHBOURS = { count: 3, share: 0.15 }
/** How soon places stop to count when rankings are fused. */
const FUSED_PLACES = 20
/** How much the best place among several wordings counts, the next best, and so on: two count most. */
const FUSED_SHARES = [1, 1, 0.9, 0.8, 0.7]
/** The wording that a tool has every word of counts so much more than one that no tool has a word of. */
const SURE = { more: 300, power: 10 }
/** The places of a ranking that can matter when several are fused. */
const DEPTH = 50

/** What is looked for. */
export interface Question {
  readonly query: string
  /** Other wordings of it. */
  readonly also: readonly string[]
  readonly limit: number
}

/** Words whose places are remembered; then all are forgotten. */
const WORDS_MAX = 5000

/** Ranks the tools of several servers. Pure but for what it remembers of words. */
export class ToolRanking {
  readonly #words: Words
  readonly #nameOf: (tool: number) => string

  /** Tools are numbered over all parts. Ties are settled by `nameOf` their number. */
  constructor(parts: readonly ToolIndex[], nameOf: (tool: number) => string) {
    this.#words = new Words(parts)
    this.#nameOf = nameOf
  }

  /** The numbers of the tools that fit a question, best first. */
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
      // What the query itself names exactly stays first, whatever else it may be called.
      const weight = (top / most) * (at === 0 ? 1 + SURE.more * met ** SURE.power : 1)
      return { order, shares: order.map(tool => (scores[tool] ?? 0) / top), weight }
    })
    return fused(rankings, this.#nameOf)
  }
}

interface Scored {
  readonly scores: Float32Array
  /** The share of the words that the best tool has itself. */
  readonly met: number
  /** The score of a tool that would be named by nothing but these words. */
  readonly most: number
}

/** The tools that have a word, by their numbers over all parts, and what it alone makes each score. */
interface Found {
  readonly tools: Uint32Array
  readonly scores: Float32Array
  /** How rare the word is. */
  readonly rarity: number
}

/** Where words stand in all parts; remembered, since questions share most of their kin. */
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

/** BM25F over the fields of `ToolIndex`, in which a word may be met by one that is kin to it. */
const scored = (all: Words, wording: string, kinship: Kinship): Scored => {
  const { words, phrases } = withKin(wording)
  const [scores, best] = [new Float32Array(all.size), new Float32Array(all.size)]
  const [met, own] = [new Float32Array(all.size), new Float32Array(all.size)]
  let [most, weights] = [0, 0]
  for (const [word, kin] of words) {
    const found = all.find(word)
    const weight = isEveryday(word) ? EVERYDAY : 1
    most += (K1 + 1) * found.rarity
    weights += weight
    for (const tool of found.tools) add(own, tool, 1)
    const touched = raise(best, found, { share: weight, further: 0, least: 0 })
    touched.push(...raiseKin(all, best, kin, { ...kinship, kin: weight * kinship.kin }))
    for (const tool of touched) add(met, tool, weight)
    settle(scores, best, touched)
  }
  if (kinship.phrase > 0)
    for (const kin of phrases)
      settle(scores, best, raiseKin(all, best, kin, { ...kinship, kin: kinship.phrase * kinship.kin }))
  for (let tool = 0; tool < all.size; tool++)
    scores[tool] = (scores[tool] ?? 0) * (FEW_WORDS + (1 - FEW_WORDS) * shareOf(met, tool, weights))
  return { scores, met: shareOf(own, topOf(scores), words.size), most }
}

/** Raises the best scores of tools that have words which are kin; returns those that had none. */
const raiseKin = (all: Words, best: Float32Array, words: Kin, { kin, further }: Kinship): number[] => {
  const touched: number[] = []
  for (const [other, share] of words)
    touched.push(...raise(best, all.find(other), { share: kin * share, further, least: KIN_WEIGHT }))
  return touched
}

/** Adds the best scores of one word to those of all, and begins anew. */
const settle = (scores: Float32Array, best: Float32Array, touched: readonly number[]): void => {
  for (const tool of touched) {
    add(scores, tool, best[tool] ?? 0)
    best[tool] = 0
  }
}

/** A question names what a server is about more often than what one of its tools does. */
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
  /** What a word must weigh in a tool. */
  readonly least: number
}

/** Raises the best scores of tools in which a word weighs enough; returns those that had none. */
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

/** More of the same word counts less and less. */
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

/** The tools with the best scores, best first. */
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
  /** The score of each beside that of the best. */
  readonly shares: readonly number[]
  readonly weight: number
}

/** Reciprocal rank and score, half and half; the best wordings of each tool count most. */
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
