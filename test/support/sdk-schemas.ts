import * as sdk1_0 from 'sdk-1.0.4/types.js'
import * as sdk1_11 from 'sdk-1.11.4/types.js'
import * as sdk1_20 from 'sdk-1.20.2/types.js'
import * as sdk1_25 from 'sdk-1.25.3/types.js'
import type { Definitions } from './official-schemas.js'

interface ZodLike {
  readonly shape?: { readonly method?: { readonly value?: string } }
  safeParse(value: unknown): {
    readonly success: boolean
    readonly error?: {
      readonly issues: readonly { readonly path: readonly unknown[]; readonly message: string }[]
    }
  }
}

const isZod = (value: unknown): value is ZodLike =>
  typeof (value as ZodLike | undefined)?.safeParse === 'function'

const definitionsOf = (types: object): Definitions => {
  const schemas = new Map(
    Object.entries(types)
      .filter((entry): entry is [string, ZodLike] => isZod(entry[1]))
      .map(([name, schema]) => [name.replace(/Schema$/, ''), schema]),
  )
  const methods = [...schemas].flatMap(([name, { shape }]) => {
    const method = shape?.method?.value
    return method === undefined ? [] : [[method, name] as const]
  })
  return {
    methods: new Map(methods),
    has: name => schemas.has(name),
    problems: (name, value) => {
      const parsed = schemas.get(name)?.safeParse(value)
      return (parsed?.error?.issues ?? []).map(({ path, message }) => `${name}/${path.join('/')} ${message}`)
    },
  }
}

/**
 * What clients and servers of the days of a revision took: the schemas of the TypeScript SDK that was current then. They are
 * stricter than the published ones where it hurts: closed unions, and empty results that must be empty.
 */
export const SDK_SCHEMAS: ReadonlyMap<string, Definitions> = new Map(
  Object.entries({
    '2024-11-05': sdk1_0,
    '2025-03-26': sdk1_11,
    '2025-06-18': sdk1_20,
    '2025-11-25': sdk1_25,
  }).map(([revision, types]) => [revision, definitionsOf(types)]),
)
