import { readFileSync } from 'node:fs'
import { runInThisContext } from 'node:vm'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import * as sdk1_0 from 'sdk-1.0.4/types.js'
import * as sdk1_11 from 'sdk-1.11.4/types.js'
import * as sdk1_20 from 'sdk-1.20.2/types.js'
import * as sdk1_25 from 'sdk-1.25.3/types.js'

/** The definitions of one revision, by their names in the specification. */
export interface Definitions {
  /** Definition names by method of a request or notification. */
  readonly methods: ReadonlyMap<string, string>
  readonly has: (definition: string) => boolean
  /** Returns a value's violations of a definition; empty if valid. */
  readonly problems: (definition: string, value: unknown) => readonly string[]
}

interface Published {
  readonly $schema: string
  readonly definitions?: Named
  readonly $defs?: Named
}
type Named = Readonly<
  Record<string, { readonly properties?: { readonly method?: { readonly const?: string } } }>
>

const SUITE = new URL(
  '../../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
  import.meta.url,
)

// The conformance suite embeds the published schemas of all tested revisions without exporting them, so we
// extract them.
const TABLE = /\{"(2025-03-26)":(\w+),"(2025-06-18)":(\w+),"(2025-11-25)":(\w+),\[\w+\]:(\w+)\}/

/** Extracts an object literal from minified code with backtick strings. */
const literalAt = (code: string, from: number): string => {
  let depth = 0
  let isString = false
  for (let at = from; at < code.length; at += 1) {
    const char = code[at]
    if (isString && char === '\\') at += 1
    else if (char === '`') isString = !isString
    else if (!isString && char === '{') depth += 1
    else if (!isString && char === '}') {
      depth -= 1
      if (depth === 0) return code.slice(from, at + 1)
    }
  }
  throw new Error('the literal does not end')
}

const publishedIn = (code: string): ReadonlyMap<string, Published> => {
  const table = TABLE.exec(code)?.slice(1)
  if (table === undefined) throw new Error('the conformance suite has its schemas somewhere else now')
  const names = [...table.slice(0, 6), '2026-07-28', table[6] ?? '']
  const all = new Map<string, Published>()
  for (let at = 0; at < names.length; at += 2) {
    const start = `${names[at + 1]}={$schema:`
    const literal = literalAt(code, code.indexOf(start) + start.indexOf('{'))
    all.set(names[at] ?? '', runInThisContext(`(${literal})`) as Published)
  }
  return all
}

const validatorOf = (published: Published): Ajv => {
  const ajv = published.$defs === undefined ? new Ajv({ strict: false }) : new Ajv2020({ strict: false })
  formats.default(ajv)
  return ajv.addSchema(published, 'spec')
}

/** Compiles nothing before a value is checked: most files check one revision or none. */
const definitionsIn = (published: Published): Definitions => {
  let ajv: Ajv | undefined
  const key = published.$defs === undefined ? 'definitions' : '$defs'
  const definitions = published.$defs ?? published.definitions ?? {}
  const methods = Object.entries(definitions).flatMap(([name, { properties }]) => {
    const method = properties?.method?.const
    return method === undefined || name.startsWith('Client') ? [] : [[method, name] as const]
  })
  return {
    methods: new Map(methods),
    has: name => name in definitions,
    problems: (name, value) => {
      ajv ??= validatorOf(published)
      const check = ajv.getSchema(`spec#/${key}/${name}`)
      if (check === undefined) throw new Error(`there is no definition ${name}`)
      if (check(value) === true) return []
      return (check.errors ?? []).map(({ instancePath, message }) => `${name}${instancePath} ${message}`)
    },
  }
}

/** The published JSON Schemas by revision; none exists for 2024-11-05. */
export const OFFICIAL_SCHEMAS: ReadonlyMap<string, Definitions> = new Map(
  [...publishedIn(readFileSync(SUITE, 'utf8'))].map(([revision, published]) => [
    revision,
    definitionsIn(published),
  ]),
)

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
 * The schemas of the TypeScript SDK that was current at a revision's time. They are stricter than the
 * published schemas in important places: closed unions, and empty results that must be empty.
 */
export const SDK_SCHEMAS: ReadonlyMap<string, Definitions> = new Map(
  Object.entries({
    '2024-11-05': sdk1_0,
    '2025-03-26': sdk1_11,
    '2025-06-18': sdk1_20,
    '2025-11-25': sdk1_25,
  }).map(([revision, types]) => [revision, definitionsOf(types)]),
)
