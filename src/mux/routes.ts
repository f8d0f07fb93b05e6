import { at, type JsonText, kindOf, memberOf, membersOf, some, stringOf } from '../kernel/json/text.js'
import { type ExtensionNeed, SKILLS, TASKS_EXTENSION } from '../model/extensions.js'
import { type Call, LISTEN, type ServerRequestMode, type Welcome } from '../model/links.js'
import { LIST_NAMES, LISTS, type ListName } from '../model/listing.js'

/** The parameter of a request that names its subject. */
export type NamedBy = 'tool' | 'prompt' | 'uri' | 'ref'

export interface NamedAt {
  readonly by: Exclude<NamedBy, 'ref'> | 'template'
  readonly path: readonly string[]
}

/** The parameter that names the subject of a request; for completions, by the type of their `ref`. */
export const PLACES = {
  tool: { by: 'tool', path: ['name'] },
  prompt: { by: 'prompt', path: ['name'] },
  uri: { by: 'uri', path: ['uri'] },
  'ref/prompt': { by: 'prompt', path: ['ref', 'name'] },
  'ref/resource': { by: 'template', path: ['ref', 'uri'] },
} as const satisfies Record<string, NamedAt>

/** Returns the parameter that names a request's subject; completions use their `ref`. */
export const namedAt = (by: NamedBy, params: JsonText | undefined): NamedAt | undefined => {
  if (by !== 'ref') return PLACES[by]
  const type = params && stringOf(at(params, 'ref', 'type'))
  return type === 'ref/prompt' || type === 'ref/resource' ? PLACES[type] : undefined
}

/** Returns the list that defines the items of a method; undefined unless it calls tools or gets prompts. */
export const definedIn = (method: string): 'tools' | 'prompts' | undefined => {
  if (method === 'tools/call') return 'tools'
  return method === 'prompts/get' ? 'prompts' : undefined
}

/** A capability of the proxy, or an extension. */
export type Need = keyof Welcome['capabilities'] | ExtensionNeed

export const NEEDS_SKILLS: Need = { extension: SKILLS }
export const NEEDS_DIRECTORIES: Need = { extension: SKILLS, flag: 'directoryRead' }

/** The conditions for the use of a method. */
export interface Conditions {
  /** What must have been announced to the client; undefined: nothing. */
  readonly needs?: Need | undefined
  /** The only mode of clients with this method; undefined: all. */
  readonly serverRequests?: ServerRequestMode
  /** The extension that defines the method. A proxy with a single server passes it on. */
  readonly extension?: string
  /** True if only clients whose revision has tasks have the method. */
  readonly isOfTasks?: boolean
}

/** The handler of a request: the merged lists, the owner of its subject, or a part of the router. */
type Target =
  | { readonly way: 'catalog'; readonly list: ListName }
  | { readonly way: 'owner'; readonly by: NamedBy }
  | { readonly way: 'subscribe' | 'unsubscribe' | 'listen' | 'log-level' | 'task' }

export type Route = Target & Conditions

/** All routed methods. Clients may read lists regardless of the capabilities, except lists of extensions. */
export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['tools/list', { way: 'catalog', list: 'tools' }],
  ['prompts/list', { way: 'catalog', list: 'prompts' }],
  ['resources/list', { way: 'catalog', list: 'resources' }],
  ['resources/templates/list', { way: 'catalog', list: 'templates' }],
  ['tools/call', { way: 'owner', needs: 'tools', by: 'tool' }],
  ['prompts/get', { way: 'owner', needs: 'prompts', by: 'prompt' }],
  ['resources/read', { way: 'owner', needs: 'resources', by: 'uri' }],
  ['completion/complete', { way: 'owner', needs: 'completions', by: 'ref' }],
  ['resources/subscribe', { way: 'subscribe', serverRequests: 'pushed', needs: 'resources' }],
  ['resources/unsubscribe', { way: 'unsubscribe', serverRequests: 'pushed', needs: 'resources' }],
  ['logging/setLevel', { way: 'log-level', serverRequests: 'pushed', needs: 'logging' }],
  [LISTEN, { way: 'listen', serverRequests: 'returned' }],
  ['skills/list', { way: 'catalog', list: 'skills', needs: NEEDS_SKILLS, extension: SKILLS }],
  ['skills/get', { way: 'owner', by: 'uri', needs: NEEDS_SKILLS, extension: SKILLS }],
  ['resources/directory/read', { way: 'owner', by: 'uri', needs: NEEDS_DIRECTORIES, extension: SKILLS }],
  ['tasks/get', { way: 'task', isOfTasks: true, extension: TASKS_EXTENSION }],
  ['tasks/cancel', { way: 'task', isOfTasks: true, extension: TASKS_EXTENSION }],
  ['tasks/result', { way: 'task', isOfTasks: true, extension: TASKS_EXTENSION, serverRequests: 'pushed' }],
  ['tasks/update', { way: 'task', isOfTasks: true, extension: TASKS_EXTENSION, serverRequests: 'returned' }],
])

/** Members of the filter of a listening request that the proxy knows. */
const FILTERS: ReadonlySet<string> = new Set([
  ...LIST_NAMES.map(list => LISTS[list].flag),
  'resourceSubscriptions',
])

/** Returns whether a client listens for anything that the proxy does not know. */
export const hasUnknownFilter = (params: JsonText | undefined): boolean => {
  const filter = params && memberOf(params, 'notifications')
  if (filter === undefined || kindOf(filter) !== 'object') return false
  return some(membersOf(filter), ({ key }) => !FILTERS.has(key))
}

/** Returns whether a request names a resource or a skill by its URI. */
export const namesUri = (method: string): boolean => {
  const route = ROUTES.get(method)
  return route?.way === 'owner' && route.by === 'uri'
}

/** Returns the subject of a request as the client wrote it; undefined if it has none. */
export const askedName = ({ method, named, params }: Call): string | undefined => {
  if (named !== undefined) return named
  const route = ROUTES.get(method)
  const by = route?.way === 'owner' ? route.by : route?.way.endsWith('subscribe') ? 'uri' : undefined
  const place = by && namedAt(by, params)
  return place && params && stringOf(at(params, ...place.path))
}
