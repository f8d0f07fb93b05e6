import { isLoopbackHost } from '../../machine/loopback.js'
import { CALLBACK_PATH } from '../auth-server/metadata.js'

export const CLIENT_DOCUMENT_PATH = '/oauth/client.json'

/** The address of the document that says who we are; undefined where nobody else could read it. */
export const clientDocumentUrl = (origin: string): string | undefined => {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' && !isLoopbackHost(hostname) ? origin + CLIENT_DOCUMENT_PATH : undefined
}

/** Our client ID metadata document (2025-11-25, basic/authorization, "Client ID Metadata Documents"). */
export const clientDocument = (origin: string): string | undefined => {
  const id = clientDocumentUrl(origin)
  if (id === undefined) return undefined
  return JSON.stringify({
    client_id: id,
    client_name: clientNameAt(origin),
    client_uri: origin,
    software_id: 'mcp-proxy-daemon',
    application_type: 'web',
    redirect_uris: [origin + CALLBACK_PATH],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  })
}

/** How authorization servers show us to people. */
export const clientNameAt = (origin: string): string => `mcp-proxy (${new URL(origin).host})`
