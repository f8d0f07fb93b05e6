import { isLoopbackHost } from '../../kernel/loopback.js'
import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import { issuerId } from '../client/issuer-id.js'

const DOCUMENT = /^\/oauth\/client\/([\da-f]{32})\.json$/

/** Reports whether a path is a client ID metadata document of the proxy. */
export const isClientDocument = (path: string): boolean => DOCUMENT.test(path)

/** Returns the callback path of an issuer; responses of other issuers are refused there (RFC 9700 §4.4.2). */
export const callbackPath = (issuer: string): string => `${CALLBACK_PATH}/${issuerId(issuer)}`

/** Reports whether a path is the callback of any issuer. */
export const isIssuerCallback = (path: string): boolean => /^\/oauth\/callback\/./.test(path)

/** Returns the client id at an issuer; undefined if the document is reachable only on this machine. */
export const clientDocumentUrl = (origin: string, issuer: string): string | undefined =>
  documentUrl(origin, issuerId(issuer))

const documentUrl = (origin: string, id: string): string | undefined => {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' && !isLoopbackHost(hostname) ? `${origin}/oauth/client/${id}.json` : undefined
}

/** Returns the client ID metadata document at a path (2025-11-25, "Client ID Metadata Documents"). */
export const clientDocument = (origin: string, path: string): string | undefined => {
  const id = DOCUMENT.exec(path)?.[1]
  const url = id && documentUrl(origin, id)
  if (url === undefined) return undefined
  return JSON.stringify({
    client_id: url,
    client_name: clientNameAt(origin),
    client_uri: origin,
    software_id: 'mcp-proxy-daemon',
    application_type: 'web',
    redirect_uris: [`${origin}${CALLBACK_PATH}/${id}`],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  })
}

/** Returns the client name that authorization servers show to users. */
export const clientNameAt = (origin: string): string => `mcp-proxy (${new URL(origin).host})`
