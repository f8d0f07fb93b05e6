import { type ClientAuth, PrivateKeyJwt } from 'oauth4webapi'
import { Fault } from '../../kernel/faults.js'
import { resourceOf } from './login-flow.js'
import type { CredentialRecord } from './record.js'
import type { Grant, OAuthSettings, TokenSourceContext } from './settings.js'
import { type OAuthClient, requestTokens, type TokenAnswer, type TokenRequest } from './tokens.js'
import { runDiscovery } from './visit.js'

const MACHINE: ReadonlySet<Grant | undefined> = new Set(['client_credentials', 'id-jag', 'jwt-bearer'])

/** Reports whether a grant needs no user interaction. */
export const isMachineGrant = ({ grant }: OAuthSettings): boolean => MACHINE.has(grant)

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ID_JAG = 'urn:ietf:params:oauth:token-type:id-jag'
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'

/** Requests tokens as a machine, once. Rejects with a Fault for an unusable configuration. */
export const requestAsMachine = async (
  context: TokenSourceContext,
  record: CredentialRecord,
): Promise<TokenAnswer> => {
  const { settings } = context
  const { discovery, asked } = record
  const scope = asked?.join(' ')
  const resource = resourceOf({ discovery, settings })
  const request = {
    server: discovery.server,
    client: record.client ?? { id: settings.clientId ?? '', by: 'configuration' as const },
    authentication: await authenticationBy(context),
    asked,
    dpopKey: record.dpopKey,
  }
  if (settings.grant === 'client_credentials') {
    return await requestTokens(context, {
      ...request,
      grant: settings.grant,
      parameters: { scope, resource },
    })
  }
  if (settings.grant === 'jwt-bearer') {
    const assertion = (await context.readFile(settings.assertion ?? '')).trim()
    return await requestTokens(context, {
      ...request,
      grant: JWT_BEARER,
      parameters: { assertion, scope, resource },
    })
  }
  return await requestByIdentity(context, { ...request, parameters: { scope, resource }, grant: JWT_BEARER })
}

/** Requests tokens with an identity assertion (ext-auth, enterprise-managed authorization, §4 and §5). */
const requestByIdentity = async (
  context: TokenSourceContext,
  request: TokenRequest,
): Promise<TokenAnswer> => {
  const { idp } = context.settings
  if (idp === undefined) throw new Fault('unauthorized', 'there is no "oauth.idp" to vouch for the person')
  const { server } = await runDiscovery({ url: idp.issuer, issuer: idp.issuer }, context)
  const client: OAuthClient = { id: idp.clientId, secret: idp.clientSecret, by: 'configuration' }
  const vouched = await requestTokens(context, {
    server,
    client,
    grant: TOKEN_EXCHANGE,
    parameters: {
      ...request.parameters,
      requested_token_type: ID_JAG,
      subject_token: (await context.readFile(idp.idToken)).trim(),
      subject_token_type: ID_TOKEN,
      audience: request.server.issuer,
    },
    type: 'N_A',
  })
  if (vouched.is !== 'tokens') return vouched
  if (vouched.body['issued_token_type'] !== ID_JAG) {
    return { is: 'failed', why: 'the identity provider did not send a valid identity assertion' }
  }
  return await requestTokens(context, {
    ...request,
    parameters: { assertion: vouched.tokens.access, scope: request.parameters['scope'] },
  })
}

/** Key algorithms for WebCrypto, most common first. */
const ALGORITHMS = [
  { name: 'ECDSA', namedCurve: 'P-256' },
  { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  { name: 'Ed25519' },
  { name: 'ECDSA', namedCurve: 'P-384' },
]

/** Authenticates with a configured key; undefined without one (RFC 7523 §2.2). */
const authenticationBy = async ({
  settings,
  readFile,
}: TokenSourceContext): Promise<ClientAuth | undefined> => {
  const { key } = settings
  if (key === undefined) return undefined
  const pem = key.includes('-----BEGIN') ? key : await readFile(key)
  const bytes = Buffer.from(pem.replace(/-----[^-]*-----|\s/g, ''), 'base64')
  for (const algorithm of ALGORITHMS) {
    try {
      return PrivateKeyJwt(await crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign']))
    } catch {
      // The key has another algorithm.
    }
  }
  throw new Fault('unauthorized', 'cannot sign with the private key in "oauth.key": it must be PKCS #8')
}
