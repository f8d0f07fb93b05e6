import type { z } from 'zod'
import { pointerSteps } from '../../kernel/json/pointer.js'
import type { authSchema } from './auth.js'
import type { clusterSchema } from './cluster.js'
import type { settings } from './schema.js'
import { SCHEMAS } from './schemas.generated.js'
import type { server } from './server.js'
import { type CheckedSchema, type Violation, violationsOf } from './violations.js'

/** A validation error, without the value. */
export interface Misfit {
  readonly path: readonly string[]
  /** Set if the name of the last member of `path` is invalid, not its value. */
  readonly inName: boolean
  readonly expected: string | undefined
  readonly message: string
  readonly fix: string
}

/** A valid value, or errors. Unknown keys are ignored. */
export type Validated<T> =
  | { readonly is: 'fine'; readonly value: T }
  | { readonly is: 'misfit'; readonly misfits: readonly Misfit[] }

export type ServerValues = z.infer<typeof server>

export type SettingsValues = z.infer<typeof settings>

export type AuthValues = z.infer<typeof authSchema>

export type ClusterValues = z.infer<typeof clusterSchema>

export const validateAuth = (value: unknown): Validated<AuthValues> => validate(SCHEMAS.auth, value)

export const validateCluster = (value: unknown): Validated<ClusterValues> => validate(SCHEMAS.cluster, value)

export const validateServer = (value: unknown): Validated<ServerValues> => validate(SCHEMAS.server, value)

/** Validates all settings except the servers, `auth` and `cluster`; "listen" in its long form only. */
export const validateSettings = (value: unknown): Validated<SettingsValues> =>
  validate(SCHEMAS.settings, value)

const validate = <T>(schema: CheckedSchema, value: unknown): Validated<T> => {
  const violations = violationsOf(schema, value)
  if (violations.length === 0) return { is: 'fine', value: value as T }
  // Keep the most detailed one of each place.
  const byPlace = new Map<string, Violation>()
  for (const violation of violations) {
    const known = byPlace.get(violation.place)
    if (known === undefined || weight(violation) > weight(known)) byPlace.set(violation.place, violation)
  }
  // A violation within one form of a union is more specific than the one of the union.
  const outer = new Set([...byPlace.keys()].flatMap(outerPlaces))
  // Ignore violations inside members with invalid names.
  const isNameBad = (place: string): boolean => byPlace.get(place)?.keyword === 'propertyNames'
  const said = [...byPlace.values()].filter(
    ({ place, keyword }) => !outerPlaces(place).some(isNameBad) && (keyword !== 'anyOf' || !outer.has(place)),
  )
  return { is: 'misfit', misfits: said.map(misfit) }
}

/** Returns the places around a place. */
const outerPlaces = (place: string): readonly string[] =>
  Array.from(place.matchAll(/\//g), ({ index }) => place.slice(0, index))

/** Ranks violations by detail; in a union, the form of the right type ranks highest. */
const weight = ({ keyword }: Violation): number => {
  if (keyword === 'propertyNames' || keyword === 'additionalProperties') return 3
  if (keyword === 'type' || keyword === 'const') return 0
  return keyword === 'anyOf' || keyword === 'enum' ? 1 : 2
}

const misfit = ({ keyword, schema, value, place }: Violation): Misfit => {
  const { fix = 'Write a name of at least one character.' } =
    (keyword === 'propertyNames' ? schema.propertyNames : schema) ?? {}
  return {
    path: pointerSteps(place),
    inName: keyword === 'propertyNames' || keyword === 'additionalProperties',
    expected: keyword === 'type' ? expectedKind(schema, value) : undefined,
    message:
      keyword === 'required'
        ? `"${place.split('/').at(-1)}" is missing here`
        : (MESSAGES[keyword] ?? 'this value is not allowed here'),
    fix,
  }
}

// Ask for a whole number only if a number was found.
const expectedKind = ({ type }: CheckedSchema, found: unknown): string | undefined =>
  KINDS[type === 'integer' && typeof found !== 'number' ? 'number' : String(type)]

const KINDS: Readonly<Partial<Record<string, string>>> = {
  array: 'a list',
  object: 'an object',
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
}

const MESSAGES: Readonly<Partial<Record<string, string>>> = {
  propertyNames: 'this name is not allowed here',
  additionalProperties: 'unknown key',
  pattern: 'this string does not have the right form',
  // The only minimum length in the schema is 1.
  minLength: 'this is empty',
  minimum: 'this value is too small',
  exclusiveMinimum: 'this value is too small',
  maximum: 'this value is too large',
  maxLength: 'this value is too large',
}
