/** Begins the names of views that show one server under its own names; no configured view has it. */
const SERVER = 'server:'

/** Returns the name of the view that shows only this server. */
export const serverViewName = (server: string): string => SERVER + server

/** Returns the server that such a view shows; undefined for other views. */
export const serverOfView = (view: string): string | undefined =>
  view.startsWith(SERVER) ? view.slice(SERVER.length) : undefined

/** The path after an MCP endpoint that is reserved for its server card (SEP-2127); no view has this name. */
export const SERVER_CARD = 'server-card'
