/** The views, in the order of their keys `1` to `8`, with the parts of the state that each needs. */
export const VIEWS = [
  { name: 'overview', title: 'Overview', needs: 'calls,errors' },
  { name: 'servers', title: 'Servers', needs: '' },
  { name: 'tools', title: 'Tools', needs: '' },
  { name: 'calls', title: 'Calls', needs: 'calls' },
  { name: 'clients', title: 'Clients', needs: 'clients' },
  { name: 'errors', title: 'Errors', needs: 'errors' },
  { name: 'limits', title: 'Limits', needs: 'config' },
  { name: 'configuration', title: 'Configuration', needs: 'config' },
] as const

export type ViewName = (typeof VIEWS)[number]['name']

/** The current view, with an item or a filter. */
export interface PageRoute {
  readonly view: ViewName
  readonly item: string | undefined
  readonly filter: string
}

/** Returns the code of `mcp-proxy ui` in the fragment, if any. */
export const codeIn = (hash: string): string | undefined => /^#([\w-]{32})$/.exec(hash)?.[1]

/** Parses `#/view/item?filter`. Unknown routes become the overview. */
export const parseRoute = (hash: string): PageRoute => {
  const [, path = '', query = ''] = /^#\/([^?]*)\??(.*)$/.exec(hash) ?? []
  const [name, item = ''] = path.split('/')
  const view = VIEWS.find(one => one.name === name)?.name ?? 'overview'
  return { view, item: decoded(item) || undefined, filter: decoded(query) }
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

export const hrefOf = (view: ViewName, item = '', filter = ''): string => {
  const query = filter === '' ? '' : `?${encodeURIComponent(filter)}`
  return `#/${view}${item === '' ? '' : `/${encodeURIComponent(item)}`}${query}`
}

/** Returns the parts that the event stream sends for a view. */
export const routePartsOf = ({ view, item }: PageRoute): string => {
  const isServer = view === 'servers' && item !== undefined
  const needs = isServer ? 'calls,errors' : (VIEWS.find(({ name }) => name === view)?.needs ?? '')
  return ['status', 'servers', needs].filter(Boolean).join(',')
}
