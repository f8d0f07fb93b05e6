import type { ServerRequestMode, Welcome } from '../model/links.js'
import type { ListName } from '../model/listing.js'
import type { NamedBy } from './calls/named.js'

/** The capability that must have been announced to a client before it may use a method. */
type Capability = keyof Welcome['capabilities']

interface Terms {
  /** Undefined: there whatever the servers can do. */
  readonly needs?: Capability
  /** The one kind of clients that have the method; undefined: all. */
  readonly serverRequests?: ServerRequestMode
}

/** Where a request goes: to our catalogue, to the one owner of what it names, to a subscription, to everyone. */
type Way =
  | { readonly way: 'catalog'; readonly list: ListName }
  | { readonly way: 'owner'; readonly by: NamedBy }
  | { readonly way: 'feed'; readonly wants: boolean }
  | { readonly way: 'everyone' }
  | { readonly way: 'listen' }

/** A request that is routed, and whose it can be. */
export type Route = Way & Terms

/**
 * Every request that is routed; what is absent does not exist and is answered with -32601. Lists are there in any case: clients ask
 * without looking, and what is empty may be filled.
 */
export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['tools/list', { way: 'catalog', list: 'tools' }],
  ['prompts/list', { way: 'catalog', list: 'prompts' }],
  ['resources/list', { way: 'catalog', list: 'resources' }],
  ['resources/templates/list', { way: 'catalog', list: 'templates' }],
  ['tools/call', { way: 'owner', needs: 'tools', by: 'tool' }],
  ['prompts/get', { way: 'owner', needs: 'prompts', by: 'prompt' }],
  ['resources/read', { way: 'owner', needs: 'resources', by: 'uri' }],
  ['completion/complete', { way: 'owner', needs: 'completions', by: 'ref' }],
  ['resources/subscribe', { way: 'feed', serverRequests: 'pushed', needs: 'resources', wants: true }],
  ['resources/unsubscribe', { way: 'feed', serverRequests: 'pushed', needs: 'resources', wants: false }],
  ['logging/setLevel', { way: 'everyone', serverRequests: 'pushed', needs: 'logging' }],
  ['subscriptions/listen', { way: 'listen', serverRequests: 'returned' }],
])

/** The list that a change notification is about; resources stand for their templates too. */
export const CHANGES: ReadonlyMap<string, readonly ListName[]> = new Map<string, readonly ListName[]>([
  ['notifications/tools/list_changed', ['tools']],
  ['notifications/prompts/list_changed', ['prompts']],
  ['notifications/resources/list_changed', ['resources', 'templates']],
])

/** What clients are told when a merged list changed. */
export const CHANGE_NOTICES: Readonly<Record<ListName, string>> = {
  tools: 'notifications/tools/list_changed',
  prompts: 'notifications/prompts/list_changed',
  resources: 'notifications/resources/list_changed',
  templates: 'notifications/resources/list_changed',
}
