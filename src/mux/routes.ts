import type { Welcome } from '../model/links.js'
import type { ListName } from '../model/listing.js'

/** The capability that must have been announced to a client before it may use a method. */
type Capability = keyof Welcome['capabilities']

/** Where a request goes: to our catalogue, to the one owner of what it names, to a subscription, to everyone. */
export type Route =
  | { readonly way: 'catalog'; readonly needs: Capability; readonly list: ListName }
  | { readonly way: 'owner'; readonly needs: Capability; readonly by: 'tool' | 'prompt' | 'uri' | 'ref' }
  | { readonly way: 'feed'; readonly needs: Capability; readonly wants: boolean }
  | { readonly way: 'everyone'; readonly needs: Capability }

/** Every request that is routed; what is absent does not exist and is answered with -32601. */
export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['tools/list', { way: 'catalog', needs: 'tools', list: 'tools' }],
  ['prompts/list', { way: 'catalog', needs: 'prompts', list: 'prompts' }],
  ['resources/list', { way: 'catalog', needs: 'resources', list: 'resources' }],
  ['resources/templates/list', { way: 'catalog', needs: 'resources', list: 'templates' }],
  ['tools/call', { way: 'owner', needs: 'tools', by: 'tool' }],
  ['prompts/get', { way: 'owner', needs: 'prompts', by: 'prompt' }],
  ['resources/read', { way: 'owner', needs: 'resources', by: 'uri' }],
  ['completion/complete', { way: 'owner', needs: 'completions', by: 'ref' }],
  ['resources/subscribe', { way: 'feed', needs: 'resources', wants: true }],
  ['resources/unsubscribe', { way: 'feed', needs: 'resources', wants: false }],
  ['logging/setLevel', { way: 'everyone', needs: 'logging' }],
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
