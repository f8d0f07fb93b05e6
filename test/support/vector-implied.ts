import { isObject } from './vector-match.js'
import type { ServerPlan } from './vector-servers.js'
import { type Json, revisionOf, type Step, type Vector } from './vectors.js'

// What a vector leaves out, told from what it says.

export const methodOf = ({ message }: Step): string | undefined =>
  (message['method'] ??
    message['m'] ??
    (isObject(message['body']) ? message['body']['method'] : undefined)) as string | undefined

/** What clients ask for by name or URI, as they write it. */
const namesIn = (vector: Vector): readonly (readonly [string, string])[] =>
  vector.steps.flatMap(({ way, message }) => {
    const request = isObject(message['body']) ? message['body'] : message
    const params = request['params'] as Json | undefined
    const ref = params?.['ref'] as Json | undefined
    const name = ref?.['name'] ?? params?.['name'] ?? params?.['uri']
    if (way !== 'c>p' || typeof name !== 'string') return []
    return [[ref === undefined ? String(request['method']) : 'prompts/get', name]]
  })

/** The names of the servers, in the order of the configuration. */
export const aliasesOf = (vector: Vector): readonly string[] => {
  const named = vector.steps.flatMap(({ alias }) => alias ?? [])
  const prefixes = namesIn(vector).flatMap(([, name]) => /^([a-z]+)__/.exec(name)?.[1] ?? [])
  // A vector that says which server it means has more than one.
  return [...new Set([...(named.length > 0 ? ['a', 'b'] : []), ...named, ...prefixes, 'a'])].slice(
    0,
    named.length > 0 ? undefined : 1,
  )
}

/** Whether steps on one of the hops are HTTP requests and answers. */
export const isHttp = ({ steps }: Vector, peer: 'c' | 's'): boolean =>
  steps.some(({ way, message }) => way.includes(peer) && 'http' in message)

/** The capabilities of a client that the vector can be about. */
export const clientCapabilities = ({ steps, note }: Vector): Json => {
  if (note === 'client declared nothing') return {}
  const text = JSON.stringify(steps.map(({ message }) => message))
  return {
    ...(text.includes('roots/list') && { roots: { listChanged: true } }),
    ...(/sampling/.test(text) && { sampling: {} }),
    ...(text.includes('elicitation/create') && { elicitation: {} }),
  }
}

/** Tools that nobody has: the vector is about calling them. */
const isUnknown = ({ steps }: Vector, name: string): boolean =>
  JSON.stringify(steps.filter(({ way }) => way === 'p>c')).includes(`: ${name}"`)

const itemsFor = (vector: Vector, alias: string): readonly (readonly [string, string])[] =>
  namesIn(vector)
    .filter(([, name]) => !isUnknown(vector, name))
    .filter(([, name]) => !name.includes('__') || name.startsWith(`${alias}__`))
    .map(([method, name]) => [method, name.replace(/^[a-z]+__/, '')])

/** What a server of the vector has, as far as the vector needs it. */
export const planOf = (vector: Vector, alias: string): ServerPlan => {
  const items = itemsFor(vector, alias)
  const own = (prefix: string): string[] => [
    ...new Set(items.filter(([method]) => method.startsWith(prefix)).map(([, name]) => name)),
  ]
  const about = (prefix: string): boolean => vector.steps.some(step => methodOf(step)?.startsWith(prefix))
  const refused = vector.steps[0]?.message['error'] as Json | undefined
  const sessionId = vector.steps
    .filter(({ way }) => way === 'p>s')
    .map(({ message }) => (message['h'] as Json | undefined)?.['Mcp-Session-Id'])
    .find(id => typeof id === 'string')
  const hasPrompts = about('prompts/') || about('completion/')
  return {
    alias,
    revision: revisionOf(vector.server),
    capabilities: {
      tools: {},
      ...(hasPrompts && { prompts: {} }),
      ...(about('resources/') && { resources: {} }),
      ...(about('completion/') && { completions: {} }),
      ...((about('logging/') || about('notifications/message')) && { logging: {} }),
    },
    lists: {
      'tools/list': {
        tools: [...new Set(['x', ...own('tools/')])].map(name => ({ name, inputSchema: { type: 'object' } })),
      },
      'prompts/list': { prompts: own('prompts/').map(name => ({ name })) },
      // Only the first server lists what is not said to be another one's.
      'resources/list': { resources: alias === 'a' ? listed(vector, own('resources/')) : [] },
      'resources/templates/list': { resourceTemplates: [] },
    },
    isHttp: isHttp(vector, 's'),
    sessionId: (sessionId as string | undefined) ?? 's',
    isDown: (refused?.['data'] as Json | undefined)?.['reason'] === 'unavailable',
  }
}

const listed = ({ note }: Vector, uris: readonly string[]): Json[] =>
  note?.startsWith('unlisted') === true ? [] : uris.map(uri => ({ uri, name: uri }))
