/** What a server can list; also what a cursor and an item belong to. */
export type ListName = 'tools' | 'prompts' | 'resources' | 'templates'

/** Where the items of a list stand: the member of its result. */
export const LIST_METHODS = {
  'tools/list': { list: 'tools', member: 'tools' },
  'prompts/list': { list: 'prompts', member: 'prompts' },
  'resources/list': { list: 'resources', member: 'resources' },
  'resources/templates/list': { list: 'templates', member: 'resourceTemplates' },
} as const satisfies Record<string, { list: ListName; member: string }>

type ListMethod = keyof typeof LIST_METHODS

/** Whether a method is one of the four lists. */
export const isListMethod = (method: string): method is ListMethod => Object.hasOwn(LIST_METHODS, method)
