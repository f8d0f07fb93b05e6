import { at, type JsonText, stringOf } from '../kernel/json/text.js'
import type { Call, ServerRequestMode, Welcome } from '../model/links.js'
import type { ListName } from '../model/listing.js'

/** What a request names its owner by. */
export type NamedBy = 'tool' | 'prompt' | 'uri' | 'ref'

export interface NamedAt {
  readonly by: Exclude<NamedBy, 'ref'> | 'template'
  readonly path: readonly string[]
}

const PLACES = {
  tool: { by: 'tool', path: ['name'] },
  prompt: { by: 'prompt', path: ['name'] },
  uri: { by: 'uri', path: ['uri'] },
  'ref/prompt': { by: 'prompt', path: ['ref', 'name'] },
  'ref/resource': { by: 'template', path: ['ref', 'uri'] },
} as const satisfies Record<string, NamedAt>

/** Returns where a request names its subject, if it does; a completion does by its `ref`. */
export const namedAt = (by: NamedBy, params: JsonText | undefined): NamedAt | undefined => {
  if (by !== 'ref') return PLACES[by]
  const type = params && stringOf(at(params, 'ref', 'type'))
  return type === 'ref/prompt' || type === 'ref/resource' ? PLACES[type] : undefined
}

type Capability = keyof Welcome['capabilities']

interface Conditions {
  /** The capability that must have been announced to the client; undefined: none. */
  readonly needs?: Capability
  /** The one kind of clients that have the method; undefined: all. */
  readonly serverRequests?: ServerRequestMode
}

/** Who serves a request: the merged lists, the server that owns what it names, or a part of the router. */
type Target =
  | { readonly way: 'catalog'; readonly list: ListName }
  | { readonly way: 'owner'; readonly by: NamedBy }
  | { readonly way: 'subscribe' | 'unsubscribe' | 'listen' | 'log-level' }

export type Route = Target & Conditions

/** Every method that is routed; clients read lists whatever the capabilities. */
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
  ['subscriptions/listen', { way: 'listen', serverRequests: 'returned' }],
])

/** What a request names, in the words of its client; undefined if it names nothing. */
export const askedName = ({ method, named, params }: Call): string | undefined => {
  if (named !== undefined) return named
  const route = ROUTES.get(method)
  const by = route?.way === 'owner' ? route.by : route?.way.endsWith('subscribe') ? 'uri' : undefined
  const place = by && namedAt(by, params)
  return place && params && stringOf(at(params, ...place.path))
}
