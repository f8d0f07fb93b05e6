import { type JsonText, valueOf } from '../../kernel/json/text.js'
import { isObject } from '../../kernel/object.js'

/** An error in the arguments of a call, with a message for a model. */
export class BadArguments extends Error {}

/** Maximum size of the arguments of a search tool. */
const ARGUMENTS_BYTES = 64 * 1024

/** The arguments of a search tool; its readers throw BadArguments. */
export class SearchArguments {
  readonly #values: Readonly<Record<string, unknown>>

  constructor(text: JsonText | undefined) {
    if (text !== undefined && text.length > ARGUMENTS_BYTES) throw new BadArguments('arguments: too long')
    const values: unknown = text === undefined ? {} : valueOf(text)
    if (!isObject(values)) throw new BadArguments('arguments: must be an object')
    this.#values = values
  }

  text(name: string, maxChars = Number.POSITIVE_INFINITY): string | undefined {
    return this.#textOf(this.#values[name], name, maxChars)
  }

  needed(name: string, maxChars?: number): string {
    const text = this.text(name, maxChars)
    if (text === undefined || text.trim() === '') throw new BadArguments(`${name}: must be text`)
    return text
  }

  texts(name: string, max: number, maxChars?: number): readonly string[] {
    const list = this.#values[name] ?? []
    // Models send a single text instead of a list.
    const all: readonly unknown[] = Array.isArray(list) ? list : [list]
    if (all.length > max) throw new BadArguments(`${name}: at most ${max}`)
    return all.flatMap(each => this.#textOf(each, name, maxChars) ?? [])
  }

  whole(name: string, { least, most, usual }: { least: number; most: number; usual: number }): number {
    const value = this.#values[name] ?? usual
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
      throw new BadArguments(`${name}: must be a whole number from ${least} to ${most}`)
    return value
  }

  #textOf(value: unknown, name: string, maxChars = Number.POSITIVE_INFINITY): string | undefined {
    if (value === undefined || value === null) return undefined
    if (typeof value !== 'string') throw new BadArguments(`${name}: must be text`)
    if (value.length > maxChars) throw new BadArguments(`${name}: at most ${maxChars} characters`)
    return value
  }
}
