import { isObject } from './vector-match.js'
import { type Json, MODERN, revisionOf, type Step, type Vector } from './vectors.js'

// What a vector leaves out, told from what it says.

/** The JSON-RPC message of a step, which may be the body of an HTTP request or answer. */
export const rpcOf = ({ message }: Step): Json => (isObject(message['body']) ? message['body'] : message)

export const methodOf = (step: Step): string | undefined =>
  (rpcOf(step)['method'] ?? rpcOf(step)['m']) as string | undefined

/** What clients ask for by name or URI, as they write it: the method that lists it, and the name. */
export const namesIn = (vector: Vector): readonly (readonly [string, string])[] =>
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
export const nobodysIn = (vector: Vector): readonly string[] => {
  const acknowledged = vector.steps.find(
    ({ message }) => message['method'] === 'notifications/subscriptions/acknowledged',
  )
  if (acknowledged === undefined) return []
  const known = JSON.stringify(acknowledged.message)
  return namesIn(vector).flatMap(([, name]) => (known.includes(`"${name}"`) ? [] : [name]))
}

/** What a vector says of its server where there are several: their revisions by their names. */
export const mixedIn = ({
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
  }
}

/** The capabilities that a modern server is told: those of the client. */
const declaredIn = (vector: Vector): Json | undefined => {
  const envelopes = vector.steps
    .filter(({ way }) => way === 'p>s' && !isModernClient(vector))
    .flatMap(step => {
      const meta = (rpcOf(step)['params'] as Json | undefined)?.['_meta'] as Json | undefined
      return (meta?.['io.modelcontextprotocol/clientCapabilities'] as Json | undefined) ?? []
    })
  return envelopes.length === 0 ? undefined : Object.assign({}, ...envelopes)
}
