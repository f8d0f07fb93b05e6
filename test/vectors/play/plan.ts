import { MODERN, revisionOf } from '../../support/era/codec.js'
import { isObject, type Json } from '../../support/match.js'
import type { ServerPlan } from '../../support/server/scripted-server.js'
import type { Step, Vector } from './vector.js'

// What a vector leaves out, told from what it says.

/** The JSON-RPC message of a step, which may be the body of an HTTP request or answer. */
export const rpcOf = ({ message }: Step): Json => (isObject(message['body']) ? message['body'] : message)

export const methodOf = (step: Step): string | undefined =>
  (rpcOf(step)['method'] ?? rpcOf(step)['m']) as string | undefined

/** What clients ask for by name or URI, as they write it: the method that lists it, and the name. */
const namesIn = (vector: Vector): readonly (readonly [string, string])[] =>
  vector.steps.flatMap((step): readonly (readonly [string, string])[] => {
    const { method, params } = rpcOf(step) as { method?: string; params?: Json }
    if (step.way !== 'c>p' || method === undefined) return []
    const { ref, name, uri, notifications } = (params ?? {}) as Record<string, Json | undefined>
    const uris = (notifications?.['resourceSubscriptions'] ?? []) as readonly string[]
    if (uris.length > 0) return uris.map(one => ['resources/subscribe', one] as const)
    const named = ref?.['name'] ?? name ?? uri
    if (typeof named !== 'string') return []
    return [[ref === undefined ? method : 'prompts/get', named]]
  })

/** The names of the servers, in the order of the configuration. */
export const aliasesOf = (vector: Vector): readonly string[] => {
  if (vector.server === 'mixed') return Object.keys(mixedIn(vector))
  const listing = Object.keys(toolsIn(vector))
  if (listing.length > 0) return listing
  const named = vector.steps.flatMap(({ alias }) => alias ?? [])
  // What nobody has is only known to be so where more than one could have it.
  if (nobodysIn(vector).length > 0) return ['a', 'b']
  if (named.length > 0) return [...new Set(['a', 'b', ...named])]
  const prefixes = namesIn(vector).flatMap(([, name]) => /^([a-z]+)__/.exec(name)?.[1] ?? [])
  const [said] = vector.steps.flatMap(
    step => /[Ss]erver ([a-z])\b/.exec(step.way === 'p>c' ? JSON.stringify(step.message) : '')?.[1] ?? [],
  )
  return [prefixes[0] ?? said ?? 'a']
}

/** URIs that the vector knows and no server has. */
const nobodysIn = (vector: Vector): readonly string[] => {
  const acknowledged = vector.steps.find(
    ({ message }) => message['method'] === 'notifications/subscriptions/acknowledged',
  )
  if (acknowledged === undefined) return []
  const known = JSON.stringify(acknowledged.message)
  return namesIn(vector).flatMap(([, name]) => (known.includes(`"${name}"`) ? [] : [name]))
}

/** What a vector says of its server where there are several: their revisions by their names. */
const mixedIn = ({
  server,
  note = '',
}: Vector): Readonly<Record<string, { revision: string; has: string }>> => {
  if (server !== 'mixed') return {}
  const servers = /^a: ?R/.test(note)
    ? note
    : 'a:R1 tools; b:R4 prompts+completions+tasks; c:R5 resources.subscribe+logging'
  return Object.fromEntries(
    [...servers.matchAll(/\b([a-z]): ?(R\d)([^;]*)/g)].map(([, alias, revision, has]) => [
      alias,
      { revision: revisionOf(revision ?? ''), has: has ?? '' },
    ]),
  )
}

/** What a vector says that its servers list: names of tools, `*` with an interface, `!` for apps only. */
const toolsIn = ({ note = '' }: Vector): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    [...note.matchAll(/\b([a-z]+) lists ([^;]+)/g)].map(([, alias = '', names = '']) => [
      alias,
      names.split(', '),
    ]),
  )

/** A tool as `toolsIn` writes it. */
const toolOf = (written: string): Json => {
  const name = written.replace(/[*!]$/, '')
  const ui = written.endsWith('*') ? { resourceUri: `ui://${name}` } : { visibility: ['app'] }
  return { name, inputSchema: { type: 'object' }, ...(name !== written && { _meta: { ui } }) }
}

/** Whether steps on one of the hops are HTTP requests and answers. */
export const isHttp = ({ steps }: Vector, peer: 'c' | 's'): boolean =>
  steps.some(({ way, message }) => way.includes(peer) && 'http' in message)

export const isModernClient = ({ client }: Vector): boolean => revisionOf(client) === MODERN

/** The capabilities of a client that the vector can be about, as its revision writes them. */
export const clientCapabilities = (vector: Vector): Json => {
  const { steps, note = '' } = vector
  if (note === 'client declared nothing' || note === 'client without url elicitation') return {}
  const isModern = isModernClient(vector)
  const said = declaredIn(vector)
  const text = JSON.stringify(steps.map(({ message }) => message))
  const asks = (words: string, name: string): boolean =>
    said === undefined ? text.includes(words) : name in said
  const modes = note.includes('form only') ? { form: {} } : { form: {}, url: {} }
  const tellsModes = vector.client === 'R4' || isModern
  return {
    ...(asks('roots/list', 'roots') && { roots: isModern ? {} : { listChanged: true } }),
    ...(asks(isModern ? 'sampling/createMessage' : 'sampling', 'sampling') && {
      sampling: said?.['sampling'] ?? {},
    }),
    ...(asks('elicitation/create', 'elicitation') && { elicitation: tellsModes ? modes : {} }),
    ...(said?.['extensions'] !== undefined && { extensions: said['extensions'] }),
    ...(note.startsWith('ui client') && { extensions: { 'io.modelcontextprotocol/ui': {} } }),
  }
}

/** The capabilities that a modern server is told: those of the client. */
const declaredIn = (vector: Vector): Json | undefined => {
  const envelopes = vector.steps
    .filter(({ way }) => way === 'p>s' && !isModernClient(vector))
    .flatMap(step => {
      const meta = (rpcOf(step)['params'] as Json | undefined)?.['_meta'] as Json | undefined
      return meta?.['io.modelcontextprotocol/clientCapabilities'] ?? []
    })
  return envelopes.length === 0 ? undefined : Object.assign({}, ...envelopes)
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

/** Whether the client of a vector follows tasks by itself. */
export const hasTasks = ({ rule, note = '' }: Vector): boolean => note.startsWith('tasks:') || rule === 'AT-2'

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
      resources: {
        ...(vector.rule !== 'SB-7' && (!isMixed || has.includes('subscribe')) && { subscribe: true }),
      },
    }),
    ...(completes && { completions: {} }),
    ...((about('logging/') || about('notifications/message') || text.includes('logLevel')) && {
      logging: {},
    }),
    ...(has.includes('tasks') && { tasks: { list: {}, cancel: {} } }),
    ...((wantsTasks(vector) || (hasTasks(vector) && !isModern)) && {
      tasks: { requests: { tools: { call: {} } } },
    }),
    ...(hasTasks(vector) && isModern ? { extensions: { [`${PREFIX}tasks`]: {} } } : extensionsIn(has)),
    ...(hasSkills(vector, alias) && { extensions: { [`${PREFIX}skills`]: { directoryRead: true } } }),
  }
}

/** Whether the vector shows a request for skills to this server. */
const hasSkills = ({ steps }: Vector, alias: string): boolean =>
  steps.some(step => step.alias === alias && /^(skills|resources\/directory)\//.test(methodOf(step) ?? ''))

const PREFIX = 'io.modelcontextprotocol/'

/** The extensions in what a vector says of a server: short names with settings, and whole ids. */
const extensionsIn = (has: string): Json => {
  const known = [...has.matchAll(/\b(ui|skills)\{(?:(\w+):(\w+))?\}/g)].map(
    ([, id, name, value]) =>
      [`${PREFIX}${id}`, name === undefined ? {} : { [name]: JSON.parse(value ?? '') }] as const,
  )
  const unknown = [...has.matchAll(/\bcom\.\w+\/\w+/g)].map(([id]) => [id, {}] as const)
  const all = [...known, ...unknown]
  return all.length === 0 ? {} : { extensions: Object.fromEntries(all) }
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
  const isTask = wantsTasks(vector) || (hasTasks(vector) && !isModern)
  const more = isTask ? { execution: { taskSupport: 'required' } } : {}
  const tools =
    vector.server === 'mixed' ? [alias === 'b' ? 'y' : 'x'] : [...new Set(['x', ...own('tools/')])]
  const told = toolsIn(vector)[alias]?.map(toolOf)
  return {
    'tools/list': {
      tools: told ?? tools.map(name => ({ name, inputSchema: schemaIn(vector), ...more })),
      ...hints,
    },
    'prompts/list': { prompts: own('prompts/').map(name => ({ name })), ...hints },
    // Only the first server lists what is not said to be another one's.
    'resources/list': { resources: alias === 'a' ? listed(vector, own('resources/')) : [], ...hints },
    'resources/templates/list': { resourceTemplates: [], ...hints },
    'skills/list': { skills: [], ...hints },
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
    sessionId: sessionId ?? 's',
    isDown: (refused?.['data'] as Json | undefined)?.['reason'] === 'unavailable',
    ignoresProbe: vector.rule === 'DD-7',
  }
}
