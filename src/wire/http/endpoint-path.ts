import { SERVER_CARD, serverOfView, serverViewName } from '../../kernel/server-view.js'

/**
 * The paths of the endpoints, the main one first. Each view adds its own, such as `/mcp/web`, and each server
 * such as `/servers/github/mcp`.
 */
export const ENDPOINT_PATHS = ['/mcp', '/sse', '/messages', '/ws'] as const

export type EndpointName = (typeof ENDPOINT_PATHS)[number]

/** An endpoint, and the view that its path names. */
export interface EndpointPath {
  readonly endpoint: EndpointName
  /** Not checked: the view may not exist. */
  readonly view: string | undefined
}

const FORM = /^(?:\/servers\/([^/]+))?(\/(?:mcp|sse|messages|ws))(?:\/([^/:]+))?\/?$/

const decoded = (segment: string): string | undefined => {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** Parses the path of an endpoint, in which a slash at the end has no meaning; undefined for other paths. */
export const parseEndpointPath = (path: string): EndpointPath | undefined => {
  const [, segment, endpoint, view] = FORM.exec(path) ?? []
  if (endpoint === undefined || view === SERVER_CARD) return undefined
  if (segment === undefined) return { endpoint: endpoint as EndpointName, view }
  const server = decoded(segment)
  if (server === undefined || view !== undefined) return undefined
  return { endpoint: endpoint as EndpointName, view: serverViewName(server) }
}

/** Returns the path of an endpoint, without a slash at the end. */
export const endpointPath = (endpoint: EndpointName, view: string | undefined): string => {
  const server = view === undefined ? undefined : serverOfView(view)
  if (server !== undefined) return `/servers/${encodeURIComponent(server)}${endpoint}`
  return view === undefined ? endpoint : `${endpoint}/${view}`
}

/**
 * Returns a reference from one path to another that stays valid if a reverse proxy serves both below a path
 * (RFC 3986 §4.2).
 */
export const referenceFrom = (path: string, to: string): string => {
  const here = path.split('/').slice(0, -1)
  const there = to.split('/')
  let shared = 0
  while (shared < Math.min(here.length, there.length - 1) && here[shared] === there[shared]) shared += 1
  return [...here.slice(shared).map(() => '..'), ...there.slice(shared)].join('/')
}
