import { readdirSync, readFileSync } from 'node:fs'
import { clientEnvelope } from '../../support/era/codec.js'
import type { Json } from '../../support/match.js'

/** Who sends a step to whom. */
type Direction = 'c>p' | 'p>c' | 'p>s' | 's>p' | 'page'

/** One message of a vector. */
export interface Step {
  readonly way: Direction
  /** The alias of the server, where the vector names it. */
  readonly alias: string | undefined
  readonly message: Json
}

/** A conversation that must go exactly like this. */
export interface Vector {
  readonly rule: string
  readonly client: string
  readonly server: string
  readonly note: string | undefined
  /** The rules of the configuration; undefined without any. */
  readonly rules?: unknown
  readonly steps: readonly Step[]
  /** What follows from the last word of a server is not told. */
  readonly isOpen: boolean
}

/** A rule that is checked by a test of another kind. */
export interface Check {
  readonly rule: string
  readonly text: string
}

const FOLDER = new URL('../../vectors/', import.meta.url)

const lines = (): readonly Json[] =>
  readdirSync(FOLDER)
    .filter(file => file.endsWith('.jsonl'))
    .sort()
    .flatMap(file => readFileSync(new URL(file, FOLDER), 'utf8').split('\n'))
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Json)

/** A message with its envelopes written out. */
const unfolded = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(unfolded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) =>
      name === '$E' ? Object.entries(clientEnvelope(one)) : [[name, unfolded(one)]],
    ),
  )
}

const stepOf = ([direction, message]: readonly [string, Json]): Step => {
  const [way, alias] = direction.replace('!', '').split(':')
  return { way: way as Direction, alias, message: unfolded(message) as Json }
}

/** All conversations, in the order of the files. */
export const readVectors = (): readonly Vector[] =>
  lines()
    .filter(line => 'steps' in line)
    .map(line => {
      const steps = (line['steps'] as [string, Json][]).map(stepOf)
      return {
        rule: line['t'] as string,
        client: line['c'] as string,
        server: line['s'] as string,
        note: line['note'] as string | undefined,
        rules: line['rules'],
        steps,
        isOpen: steps.at(-1)?.way === 's>p',
      }
    })

/** All rules that other tests check, in the order of the files. */
export const readChecks = (): readonly Check[] =>
  lines()
    .filter(line => 'check' in line)
    .map(line => ({ rule: line['t'] as string, text: line['check'] as string }))

/** How a vector is called in the output of tests. */
export const titleOf = ({ rule, client, server, note }: Vector): string =>
  `${rule} ${client}-${server}${note === undefined ? '' : ` ${note}`}`

/** A vector of which a part of what the proxy says is another one. */
export const amended = (vector: Vector, at: readonly string[], is: unknown): Vector => ({
  ...vector,
  steps: vector.steps.map(step =>
    step.way.startsWith('p>') ? { ...step, message: replaced(step.message, at, is) as Json } : step,
  ),
})

/** A value with another one at a path, where it has any there. */
const replaced = (value: unknown, [name, ...rest]: readonly string[], is: unknown): unknown => {
  if (name === undefined) return is
  if (typeof value !== 'object' || value === null || !(name in value)) return value
  return { ...value, [name]: replaced((value as Json)[name], rest, is) }
}
