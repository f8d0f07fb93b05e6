import { isHttp, methodOf, mixedIn, namesIn, nobodysIn, rpcOf } from './vector-implied.js'
import { type Json, MODERN, revisionOf, type Vector } from './vectors.js'

/** What a server of a vector has and does of its own accord. */
export interface ServerPlan {
  readonly alias: string
  readonly revision: string
  readonly isModern: boolean
  readonly capabilities: Json
  /** Its lists by method: the whole result of each. */
  readonly lists: Readonly<Record<string, Json>>
  /** Where it is reached over HTTP; undefined: it is on a pipe. */
  readonly url: string | undefined
  /** Whether it takes GET requests: the vector shows one. */
  readonly takesGet: boolean
  /** The id of its HTTP session. */
  readonly sessionId: string
  /** Nothing answers at its address. */
  readonly isDown: boolean
  /** It hangs when it is asked what it is. */
  readonly ignoresProbe: boolean
}

/** Tools that nobody has: the vector is about calling them. */
const isUnknown = ({ steps }: Vector, name: string): boolean =>
  JSON.stringify(steps.filter(({ way }) => way === 'p>c')).includes(`: ${name}"`)

/** What of the server with this alias the vector speaks of: methods, and names as the server has them. */
const itemsFor = (vector: Vector, alias: string): readonly (readonly [string, string])[] => [
  ...namesIn(vector)
    .filter(([, name]) => !isUnknown(vector, name) && !nobodysIn(vector).includes(name))
    .filter(([, name]) => !name.includes('__') || name.startsWith(`${alias}__`))
    .map(([method, name]) => [method, name.replace(/^[a-z]+__/, '')] as const),
  ...vector.steps
    .filter(({ way }) => way === 'p>s')
    .flatMap(step => {
      const { method, params } = rpcOf(step) as { method?: string; params?: Json }
      return method === 'tools/call' ? [['tools/call', String(params?.['name'])] as const] : []
    }),
  ...(subscribedIn(vector) ?? []).map(uri => ['resources/subscribe', uri] as const),
]

/** What the note of a vector says that the client is subscribed to. */
export const subscribedIn = ({ note = '' }: Vector): readonly string[] | undefined => {
  const uri = /^subscribed to (\S+)/.exec(note)?.[1]
  return uri === undefined ? undefined : [uri]
}

/** The input schema of a tool, with the annotations that the note of the vector tells. */
const schemaIn = ({ note = '' }: Vector): Json => {
  const headers = [...note.matchAll(/(?:x-mcp-header |, )(\w+) on (\w+)/g)]
  if (headers.length === 0) return { type: 'object' }
  const properties = headers.map(([, header, name]) => [name, { type: 'string', 'x-mcp-header': header }])
  return { type: 'object', properties: Object.fromEntries(properties) }
}

/** A tool of the vector is called only as a task. */
const wantsTasks = ({ steps }: Vector): boolean =>
  steps.some(step => step.way === 'p>s' && JSON.stringify(step.message).includes('"task":{'))

const capabilitiesOf = (vector: Vector, alias: string, isModern: boolean): Json => {
  const { has } = mixedIn(vector)[alias] ?? { has: '' }
  const isMixed = vector.server === 'mixed'
  const text = JSON.stringify(vector.steps.map(({ message }) => message))
  const about = (prefix: string): boolean =>
    isMixed
      ? has.includes(prefix.split('/')[0] ?? '')
      : vector.steps.some(step => methodOf(step)?.startsWith(prefix))
  const completes = isMixed ? has.includes('completions') : about('completion/')
  const wantsResources = subscribedIn(vector) !== undefined || text.includes('resourceSubscriptions')
  return {
    tools: isModern && !isMixed ? { listChanged: true } : {},
    ...((about('prompts/') || completes || text.includes('promptsListChanged')) && { prompts: {} }),
    ...((about('resources/') || wantsResources || text.includes('notifications/resources')) && {
      resources: { ...(vector.rule !== 'SB-7' && { subscribe: true }) },
    }),
    ...(completes && { completions: {} }),
    ...((about('logging/') || about('notifications/message') || text.includes('logLevel')) && {
      logging: {},
    }),
    ...(has.includes('tasks') && { tasks: { list: {}, cancel: {} } }),
    ...(wantsTasks(vector) && { tasks: { requests: { tools: { call: {} } } } }),
  }
}

const listed = ({ note }: Vector, uris: readonly string[]): Json[] =>
  note?.startsWith('unlisted') === true ? [] : uris.map(uri => ({ uri, name: uri }))

/** What a list of a modern server says of itself, beside its items. */
const hintsIn = ({ note = '' }: Vector, isModern: boolean): Json => {
  if (!isModern) return {}
  const [, ttlMs = '0', cacheScope = 'private'] = /ttl (\d+) (\w+)/.exec(note) ?? []
  return { resultType: 'complete', ttlMs: Number(ttlMs), cacheScope }
}

const listsOf = (vector: Vector, alias: string, isModern: boolean): Readonly<Record<string, Json>> => {
  const items = itemsFor(vector, alias)
  const own = (prefix: string): string[] => [
    ...new Set(items.filter(([method]) => method.startsWith(prefix)).map(([, name]) => name)),
  ]
  const hints = hintsIn(vector, isModern)
  const more = wantsTasks(vector) ? { execution: { taskSupport: 'required' } } : {}
  const tools =
    vector.server === 'mixed' ? [alias === 'b' ? 'y' : 'x'] : [...new Set(['x', ...own('tools/')])]
  return {
    'tools/list': { tools: tools.map(name => ({ name, inputSchema: schemaIn(vector), ...more })), ...hints },
    'prompts/list': { prompts: own('prompts/').map(name => ({ name })), ...hints },
    // Only the first server lists what is not said to be another one's.
    'resources/list': { resources: alias === 'a' ? listed(vector, own('resources/')) : [], ...hints },
    'resources/templates/list': { resourceTemplates: [], ...hints },
  }
}

/** What a server of the vector has, as far as the vector needs it. */
export const planOf = (vector: Vector, alias: string): ServerPlan => {
  const revision = mixedIn(vector)[alias]?.revision ?? revisionOf(vector.server)
  const isModern = revision === MODERN
  const ours = vector.steps.filter(({ way }) => way === 'p>s')
  const refused = vector.steps[0]?.message['error'] as Json | undefined
  const sessionId = ours
    .map(({ message }) => (message['h'] as Json | undefined)?.['Mcp-Session-Id'])
    .find(id => typeof id === 'string')
  const [path] = ours.flatMap(({ message }) => /\/\S*$/.exec(String(message['http'] ?? ''))?.[0] ?? [])
  return {
    alias,
    revision,
    isModern,
    capabilities: capabilitiesOf(vector, alias, isModern),
    lists: listsOf(vector, alias, isModern),
    url: isHttp(vector, 's') ? `http://s${path ?? '/mcp'}` : undefined,
    takesGet: ours.some(({ message }) => String(message['http']).startsWith('GET')),
    sessionId: (sessionId as string | undefined) ?? 's',
    isDown: (refused?.['data'] as Json | undefined)?.['reason'] === 'unavailable',
    ignoresProbe: vector.rule === 'DD-7',
  }
}
