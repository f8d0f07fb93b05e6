import type { AnySchemaObject, ErrorObject, ValidateFunction } from 'ajv'
import type { z } from 'zod'
import { pointerSteps } from '../../kernel/json/pointer.js'
import type { authSchema } from './auth.js'
import type { clusterSchema } from './cluster.js'
import type { settings } from './schema.js'
import type { server } from './server.js'
import * as generated from './validate.generated.js'

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

export const validateAuth = (value: unknown): Validated<AuthValues> => validate(generated.auth, value)

export const validateCluster = (value: unknown): Validated<ClusterValues> =>
  validate(generated.cluster, value)

export const validateServer = (value: unknown): Validated<ServerValues> => validate(generated.server, value)

/** Validates all settings except the servers, `auth` and `cluster`; "listen" in its long form only. */
export const validateSettings = (value: unknown): Validated<SettingsValues> =>
  validate(generated.settings, value)

const validate = <T>(check: ValidateFunction, value: unknown): Validated<T> => {
  if (check(value)) return { is: 'fine', value: value as T }
  // Keep the most detailed error of each place.
  const byPlace = new Map<string, ErrorObject>()
  for (const error of check.errors ?? []) {
    // Bad names are reported again, by "propertyNames".
    if (error.propertyName !== undefined) continue
    const place = placeOf(error)
    const known = byPlace.get(place)
    if (known === undefined || weight(error) > weight(known)) byPlace.set(place, error)
  }
  // An error within one form of a union is more specific than the error of the union.
  const outer = new Set([...byPlace.keys()].flatMap(outerPlaces))
  // Ignore errors inside members with invalid names.
  const isNameBad = (place: string): boolean => byPlace.get(place)?.keyword === 'propertyNames'
  const said = [...byPlace].filter(
    ([place, { keyword }]) =>
      !outerPlaces(place).some(isNameBad) && (keyword !== 'anyOf' || !outer.has(place)),
  )
  return { is: 'misfit', misfits: said.map(([place, error]) => misfit(place, error)) }
}

/** The invalid name; undefined for an invalid value. */
const badNameOf = ({ keyword, params }: ErrorObject): string | undefined => {
  if (keyword === 'propertyNames') return String(params['propertyName'])
  return keyword === 'additionalProperties' ? String(params['additionalProperty']) : undefined
}

/** Returns the places around a place. */
const outerPlaces = (place: string): readonly string[] =>
  Array.from(place.matchAll(/\//g), ({ index }) => place.slice(0, index))

/** A JSON Pointer (RFC 6901). */
const placeOf = (error: ErrorObject): string => {
  const name = error.keyword === 'required' ? String(error.params['missingProperty']) : badNameOf(error)
  if (name === undefined) return error.instancePath
  return `${error.instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** Ranks errors by detail; in a union, the form of the right type ranks highest. */
const weight = ({ keyword }: ErrorObject): number => {
  if (keyword === 'propertyNames' || keyword === 'additionalProperties') return 3
  if (keyword === 'type' || keyword === 'const') return 0
  return keyword === 'anyOf' || keyword === 'enum' ? 1 : 2
}

const misfit = (place: string, error: ErrorObject): Misfit => {
  const { keyword, parentSchema = {}, data } = error
  const { fix = 'Write a name of at least one character.' } = (
    keyword === 'propertyNames' ? parentSchema['propertyNames'] : parentSchema
  ) as AnySchemaObject
  return {
    path: pointerSteps(place),
    inName: badNameOf(error) !== undefined,
    expected: keyword === 'type' ? expectedKind(parentSchema, data) : undefined,
    message:
      keyword === 'required'
        ? `"${place.split('/').at(-1)}" is missing here`
        : (MESSAGES[keyword] ?? 'this value is not allowed here'),
    fix: String(fix),
  }
}

// Ask for a whole number only if a number was found.
const expectedKind = ({ type }: AnySchemaObject, found: unknown): string | undefined =>
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
