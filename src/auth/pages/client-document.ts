import { isLoopbackHost } from '../../machine/loopback.js'
import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import { issuerId } from '../client/issuer-id.js'

const DOCUMENT = /^\/oauth\/client\/([\da-f]{32})\.json$/

/** Whether a path is that of a client ID metadata document of ours. */
export const isClientDocument = (path: string): boolean => DOCUMENT.test(path)

/** Where an issuer sends browsers back to: no other issuer's answers are accepted there (RFC 9700 §4.4.2). */
export const callbackPath = (issuer: string): string => `${CALLBACK_PATH}/${issuerId(issuer)}`

/** Whether a path is the callback of any issuer. */
export const isIssuerCallback = (path: string): boolean => /^\/oauth\/callback\/./.test(path)

/** The client id of this proxy at one issuer; undefined if only this machine could read the document. */
export const clientDocumentUrl = (origin: string, issuer: string): string | undefined =>
  documentUrl(origin, issuerId(issuer))

const documentUrl = (origin: string, id: string): string | undefined => {
  const { protocol, hostname } = new URL(origin)
  return protocol === 'https:' && !isLoopbackHost(hostname) ? `${origin}/oauth/client/${id}.json` : undefined
}

/**
 * The client ID metadata document at a path (2025-11-25, basic/authorization, "Client ID Metadata
 * Documents").
 */
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

/** How authorization servers show us to people. */
export const clientNameAt = (origin: string): string => `mcp-proxy (${new URL(origin).host})`
