/**
 * The lists of a server. For each: its method, the result member with the items, the member that identifies
 * an item, its capability, its change notification, the capability that promises this notification
 * (`listChanged`), and the flag that subscribes to it (2026-07-28, `SubscriptionFilter`).
 */
export const LISTS = {
  tools: {
    method: 'tools/list',
    member: 'tools',
    identity: 'name',
    capability: 'tools',
    changed: 'notifications/tools/list_changed',
    changesOf: 'tools',
    flag: 'toolsListChanged',
  },
  prompts: {
    method: 'prompts/list',
    member: 'prompts',
    identity: 'name',
    capability: 'prompts',
    changed: 'notifications/prompts/list_changed',
    changesOf: 'prompts',
    flag: 'promptsListChanged',
  },
  resources: {
    method: 'resources/list',
    member: 'resources',
    identity: 'uri',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
    changesOf: 'resources',
    flag: 'resourcesListChanged',
  },
  templates: {
    method: 'resources/templates/list',
    member: 'resourceTemplates',
    identity: 'uriTemplate',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
    changesOf: 'resources',
    flag: 'resourcesListChanged',
  },
  // The extension has no notification of its own: servers report changed skills as changed resources.
  skills: {
    method: 'skills/list',
    member: 'skills',
    identity: 'uri',
    capability: 'skills',
    changed: 'notifications/resources/list_changed',
    changesOf: 'resources',
    flag: 'resourcesListChanged',
  },
} as const

export type ListName = keyof typeof LISTS

export const LIST_NAMES = Object.keys(LISTS) as readonly ListName[]

const BY_METHOD: ReadonlyMap<string, ListName> = new Map(LIST_NAMES.map(list => [LISTS[list].method, list]))

/** Returns the list that a method reads; undefined for any other method. */
export const listOfMethod = (method: string): ListName | undefined => BY_METHOD.get(method)

const BY_NOTIFICATION: ReadonlyMap<string, readonly ListName[]> = new Map(
  LIST_NAMES.map(list => {
    const { changed } = LISTS[list]
    return [changed, LIST_NAMES.filter(other => LISTS[other].changed === changed)]
  }),
)

/** Returns the lists that a notification reports as changed; undefined for any other notification. */
export const listsChangedBy = (notification: string): readonly ListName[] | undefined =>
  BY_NOTIFICATION.get(notification)
