import { z } from 'zod'
import { root } from './schema.js'

/** The part of JSON Schema (draft 7, which editors know best) that is used here. */
export interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly anyOf?: readonly JsonSchema[]
  readonly additionalProperties?: JsonSchema
  readonly [keyword: string]: unknown
}

/** Keywords for the docs and the generated code. */
const FOR_BUILD = ['reached', 'reload', 'as', 'leastMs', 'isPlain']

/** The JSON Schema of a configuration file, for editors; `config/mcp-proxy.schema.json` holds its text. */
export const createJsonSchema = (): JsonSchema => without(['fix', ...FOR_BUILD], annotatedSchema())

/** The same with the keywords for the docs (bin/write-docs.mjs) and the generated code (settings-code.ts). */
export const documentedSchema = (): JsonSchema => without(['fix'], annotatedSchema())

/** Has no indentation, which would make up a fifth of the packed file. */
export const jsonSchemaText = (): string =>
  `${JSON.stringify(createJsonSchema(), null, 1).replace(/^ +/gm, '')}\n`

/** The schemas from which the validator is generated: without texts for editors, but with `fix`. */
export const createCheckedSchemas = () => {
  const { properties: { mcpServers, auth, cluster, ...beside } = {} } = without(
    ['description', 'default', ...FOR_BUILD],
    annotatedSchema(),
  )
  const server = part(mcpServers?.additionalProperties)
  const settings: JsonSchema = {
    type: 'object',
    properties: {
      ...beside,
      ...Object.fromEntries(LONG_FORMS.map(key => [key, part(beside[key]?.anyOf?.[0])])),
    },
  }
  return { server, settings, auth: part(auth), cluster: part(cluster) }
}

/** Settings of which only the long form is checked: a union could not tell which member does not fit. */
const LONG_FORMS = ['listen', 'audit', 'metrics', 'tracing', 'lock']

/** The keys that each object of a file may have. */
export const createKeys = () => {
  const { server, settings, cluster } = createCheckedSchemas()
  const names = (schema: JsonSchema): string[] => Object.keys(schema.properties ?? {})
  const of = (schema: JsonSchema, name: string): JsonSchema => part(schema.properties?.[name])
  const tools = of(server, 'tools')
  const oauth = part(of(server, 'oauth').anyOf?.at(-1))
  const view = part(of(settings, 'views').additionalProperties)
  return {
    root: [...names(settings), 'auth', 'cluster', 'mcpServers'],
    cluster: names(cluster),
    clusterPeer: names(of(cluster, 'peer')),
    clusterTls: names(of(of(cluster, 'peer'), 'tls')),
    listen: names(of(settings, 'listen')),
    log: names(of(settings, 'log')),
    audit: names(of(settings, 'audit')),
    auditOtlp: names(of(of(settings, 'audit'), 'otlp')),
    metrics: names(of(settings, 'metrics')),
    tracing: names(of(settings, 'tracing')),
    daemon: names(of(settings, 'daemon')),
    results: names(of(settings, 'results')),
    view: names(view),
    viewTools: names(of(view, 'tools')),
    client: names(part(of(settings, 'clients').additionalProperties)),
    expose: names(part(of(settings, 'expose').anyOf?.at(-1))),
    requestState: names(of(settings, 'requestState')),
    limits: names(of(settings, 'limits')),
    server: names(server),
    own: names(of(server, 'x-mcp-proxy')),
    tools: names(tools),
    override: names(part(of(tools, 'override').additionalProperties)),
    timeouts: names(of(server, 'timeouts')),
    serverLimits: names(of(server, 'limits')),
    restart: names(of(server, 'restart')),
    oauth: names(oauth),
    tls: names(of(server, 'tls')),
    idp: names(of(oauth, 'idp')),
    endpoints: names(of(oauth, 'endpoints')),
  }
}

/** The schema with the error text of each part as its `fix`. */
const annotatedSchema = (): JsonSchema => {
  const { $schema, ...rest } = z.toJSONSchema(root, {
    io: 'input',
    target: 'draft-7',
    override: ({ zodSchema, jsonSchema }) => {
      const fix = fixOf(zodSchema._zod.def)
      if (fix !== undefined) Object.assign(jsonSchema, { fix })
    },
  })
  return {
    $schema,
    $id: 'urn:mcp-proxy-daemon:config',
    title: 'Configuration of mcp-proxy',
    description: 'The servers behind one MCP proxy, and how the proxy shows them.',
    ...rest,
  } as JsonSchema
}

type Definition = z.core.$ZodTypeDef

const fixOf = ({ error, checks = [] }: Definition): string | undefined => {
  const own = [error, ...checks.map(check => check._zod.def.error)].find(each => each !== undefined)
  const said = own?.({ code: 'custom', input: undefined } as never)
  return typeof said === 'string' ? said : undefined
}

const part = (schema: JsonSchema | undefined): JsonSchema => {
  if (schema === undefined) throw new TypeError('the schema lacks a part')
  return schema
}

/** A schema without some of its keywords; properties of the same name stay. */
const without = (keywords: readonly string[], schema: JsonSchema): JsonSchema => {
  const strip = (value: unknown, isNames: boolean): unknown => {
    if (Array.isArray(value)) return value.map(each => strip(each, false))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => isNames || !keywords.includes(key))
        .map(([key, each]) => [key, strip(each, key === 'properties' && !isNames)]),
    )
  }
  return strip(schema, false) as JsonSchema
}
