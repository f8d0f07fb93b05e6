const RESOURCE = '/.well-known/oauth-protected-resource'
const SERVER = '/.well-known/oauth-authorization-server'
const OPENID = '/.well-known/openid-configuration'

const pathOf = (url: URL): string => url.pathname.replace(/\/+$/, '')

/** Returns possible URLs of protected resource metadata (RFC 9728 §3.1): for the path, then for the root. */
export const resourceMetadataUrls = (server: string): readonly string[] => {
  const url = new URL(server)
  return [...new Set([`${url.origin}${RESOURCE}${pathOf(url)}`, `${url.origin}${RESOURCE}`])]
}

/**
 * Returns possible URLs of authorization server metadata (RFC 8414 §3, OpenID Connect Discovery §4), in MCP's
 * order (2025-11-25, basic/authorization, "Authorization Server Metadata Discovery").
 */
export const serverMetadataUrls = (issuer: string): readonly string[] => {
  const url = new URL(issuer)
  const path = pathOf(url)
  const inserted = [`${url.origin}${SERVER}${path}`, `${url.origin}${OPENID}${path}`]
  return path === '' ? inserted : [...inserted, `${url.origin}${path}${OPENID}`]
}

/** Reports whether a resource is the server's URL, or a path prefix of it; ignores a trailing slash. */
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
