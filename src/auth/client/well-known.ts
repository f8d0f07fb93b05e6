const RESOURCE = '/.well-known/oauth-protected-resource'
const SERVER = '/.well-known/oauth-authorization-server'
const OPENID = '/.well-known/openid-configuration'

const pathOf = (url: URL): string => url.pathname.replace(/\/+$/, '')

/** Where the metadata of a protected resource may be (RFC 9728 §3.1): at its path, then at the root. */
export const resourceMetadataUrls = (server: string): readonly string[] => {
  const url = new URL(server)
  return [...new Set([`${url.origin}${RESOURCE}${pathOf(url)}`, `${url.origin}${RESOURCE}`])]
}

/**
 * Where the metadata of an authorization server may be (RFC 8414 §3, OpenID Connect Discovery §4), in the
 * order that MCP prescribes (2025-11-25, basic/authorization, "Authorization Server Metadata Discovery").
 */
export const serverMetadataUrls = (issuer: string): readonly string[] => {
  const url = new URL(issuer)
  const path = pathOf(url)
  const inserted = [`${url.origin}${SERVER}${path}`, `${url.origin}${OPENID}${path}`]
  return path === '' ? inserted : [...inserted, `${url.origin}${path}${OPENID}`]
}

/** Whether a resource is the server at a URL, or a prefix of it at a slash; a trailing slash says nothing. */
export const isResourceOf = (resource: string, server: string): boolean => {
  if (!URL.canParse(resource)) return false
  const [wanted, own] = [new URL(resource), new URL(server)]
  const path = pathOf(wanted)
  return (
    wanted.origin === own.origin &&
    wanted.hash === '' &&
    (path === pathOf(own) || own.pathname.startsWith(`${path}/`))
  )
}
