import type { Checked, Checker, Keys } from './checker.js'

/** Says yes to hardly less than Zod does, never to more, and nothing about what does not fit. */
export interface QuickChecker extends Checker {
  /** Whether all that it was asked about fits. */
  readonly isSure: boolean
}

/**
 * Checks with the JSON Schema of a configuration file, which is made of the same source as Zod's (`json-schema.ts`): most files have
 * right types in them, and Zod, which is needed to tell what is wrong with the others, takes 8 MiB and a third of the start.
 */
export const createQuickChecker = (schema: JsonSchema): QuickChecker => {
  const server = only(schema.properties?.['mcpServers']?.additionalProperties)
  const settings = settingsOf(schema)
  let isSure = true
  const check = <T>(to: JsonSchema, value: unknown): Checked<T> => {
    const fitted = fit(to, value)
    if (fitted !== NOTHING) return { is: 'fine', value: fitted as T }
    isSure = false
    return { is: 'misfit', misfits: [] }
  }
  return {
    keys: keysOf(schema, server),
    server: value => check(server, value),
    settings: value => check(settings, value),
    get isSure() {
      return isSure
    },
  }
}

type Type = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null'

/**
 * As much of JSON Schema (draft 7) as our own schema uses; what is not here says nothing about which values fit. An object has either
 * members that are known by name, or others that are all alike.
 */
export interface JsonSchema {
  readonly type?: Type | readonly Type[]
  readonly anyOf?: readonly JsonSchema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema
  readonly propertyNames?: JsonSchema
  readonly items?: JsonSchema
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
}

const only = (schema: JsonSchema | undefined): JsonSchema => {
  if (schema === undefined) throw new TypeError('this is not the schema of a configuration file')
  return schema
}

/** A socket alone, in place of an object, is read elsewhere. */
const longListen = (schema: JsonSchema): JsonSchema => only(schema.properties?.['listen']?.anyOf?.[0])

const settingsOf = (schema: JsonSchema): JsonSchema => {
  const beside = Object.entries(schema.properties ?? {}).filter(([name]) => name !== 'mcpServers')
  return { type: 'object', properties: { ...Object.fromEntries(beside), listen: longListen(schema) } }
}

const keysOf = (root: JsonSchema, server: JsonSchema): Keys => {
  const names = (schema: JsonSchema | undefined): string[] => Object.keys(only(schema).properties ?? {})
  const of = (schema: JsonSchema, name: string): JsonSchema => only(schema.properties?.[name])
  return {
    root: names(root),
    listen: names(longListen(root)),
    log: names(of(root, 'log')),
    requestState: names(of(root, 'requestState')),
    limits: names(of(root, 'limits')),
    server: names(server),
    own: names(of(server, 'x-mcp-proxy')),
    tools: names(of(server, 'tools')),
    override: names(of(of(server, 'tools'), 'override').additionalProperties),
    timeouts: names(of(server, 'timeouts')),
    serverLimits: names(of(server, 'limits')),
    restart: names(of(server, 'restart')),
  }
}

// ── values ──

const NOTHING = Symbol('what does not fit')

/** The value without unknown keys, as Zod makes it; NOTHING if it does not fit. */
const fit = (schema: JsonSchema, value: unknown): unknown => {
  if (schema.anyOf !== undefined) return fitAny(schema.anyOf, value)
  if (schema.const !== undefined && value !== schema.const) return NOTHING
  if (schema.enum?.includes(value) === false) return NOTHING
  const { type } = schema
  if (type === undefined) return value
  return typeof type === 'string'
    ? BY_TYPE[type](schema, value)
    : fitAny(
        type.map(one => ({ type: one })),
        value,
      )
}

/** The first that fits. */
const fitAny = (schemas: readonly JsonSchema[], value: unknown): unknown => {
  for (const schema of schemas) {
    const fitted = fit(schema, value)
    if (fitted !== NOTHING) return fitted
  }
  return NOTHING
}

type Fit = (schema: JsonSchema, value: unknown) => unknown

const fitNumber: Fit = (schema, value) =>
  typeof value === 'number' && isWithin(schema, value) ? value : NOTHING

const BY_TYPE: Readonly<Record<Type, Fit>> = {
  object: (schema, value) => (isObject(value) ? fitObject(schema, value) : NOTHING),
  array: (schema, value) => (Array.isArray(value) ? fitArray(schema, value) : NOTHING),
  string: (schema, value) => (typeof value === 'string' && isLike(schema, value) ? value : NOTHING),
  number: fitNumber,
  integer: fitNumber,
  boolean: (_schema, value) => (typeof value === 'boolean' ? value : NOTHING),
  null: (_schema, value) => (value === null ? value : NOTHING),
}

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const fitObject = (schema: JsonSchema, value: Members): unknown => {
  const { properties = {}, required = [], additionalProperties, propertyNames = {} } = schema
  const names = Object.keys(additionalProperties === undefined ? properties : value)
  const fitted: Record<string, unknown> = {}
  for (const name of names.filter(each => Object.hasOwn(value, each))) {
    const member = fit(additionalProperties ?? properties[name] ?? {}, value[name])
    // What a name means that JavaScript knows is left to Zod.
    if (member === NOTHING || fit(propertyNames, name) === NOTHING || name === '__proto__') return NOTHING
    fitted[name] = member
  }
  return required.every(name => Object.hasOwn(fitted, name)) ? fitted : NOTHING
}

const fitArray = ({ items = {} }: JsonSchema, value: readonly unknown[]): unknown => {
  const fitted = value.map(item => fit(items, item))
  return fitted.includes(NOTHING) ? NOTHING : fitted
}

const isLike = ({ pattern, minLength = 0, maxLength }: JsonSchema, text: string): boolean =>
  text.length >= minLength &&
  (maxLength === undefined || text.length <= maxLength) &&
  (pattern === undefined || new RegExp(pattern).test(text))

const isWithin = (schema: JsonSchema, number: number): boolean => {
  const { minimum = -Number.MAX_VALUE, maximum = Number.MAX_VALUE, exclusiveMinimum } = schema
  const isAbove = exclusiveMinimum === undefined ? number >= minimum : number > exclusiveMinimum
  return isAbove && number <= maximum && (schema.type === 'number' || Number.isSafeInteger(number))
}
