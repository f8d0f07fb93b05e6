import { z } from 'zod'
import { flag, objectFix, text } from './values.js'

const ISSUER_FIX = 'Write the address of the authorization server, such as "https://login.example.com".'
const CLIENT_FIX = 'Write the client id of the app that you registered there.'
const SECRET_FIX = 'Write a variable, such as "${CLIENT_SECRET}".'
const SCOPES_FIX = 'Write a list of scopes, such as ["read", "write"].'
const URL_FIX = 'Write a whole address, such as "https://login.example.com/token".'
const GRANTS = ['authorization_code', 'device', 'client_credentials', 'id-jag', 'jwt-bearer'] as const

const url = (description: string) => text(URL_FIX).optional().describe(description)

const endpoints = z.object(
  {
    authorization: url('The authorization endpoint.'),
    token: url('The token endpoint.'),
    registration: url('The registration endpoint.'),
    revocation: url('The revocation endpoint.'),
    device: url('The device authorization endpoint.'),
  },
  objectFix('{ "authorization": "https://login.example.com/authorize", "token": "https://…" }'),
)

const idp = z.object(
  {
    issuer: text(ISSUER_FIX).describe('The address of the identity provider.'),
    clientId: text(CLIENT_FIX).describe('The client id of this proxy at the identity provider.'),
    clientSecret: text(SECRET_FIX).optional().describe('The client secret, from a variable.'),
    idToken: text('Write the path of a file.').describe('A file with an ID token of the user.'),
  },
  objectFix('{ "issuer": "https://login.example.com", "clientId": "…", "idToken": "./id-token" }'),
)

const settings = z.object({
  clientId: text(CLIENT_FIX)
    .optional()
    .describe(
      'The client id of an app that you registered at the authorization server; the proxy registers itself if absent.',
    ),
  clientSecret: text(SECRET_FIX).optional().describe('The client secret, from a variable.'),
  issuer: text(ISSUER_FIX)
    .optional()
    .describe('The authorization server, if the server names several or must not be able to name another.'),
  scopes: z
    .array(text(SCOPES_FIX), { error: SCOPES_FIX })
    .optional()
    .describe('The scopes to request; the scopes that the server asks for if absent.'),
  redirectUri: text('Write an address of this machine, such as "http://localhost:3118/callback".')
    .optional()
    .describe(
      'The redirect URI, as registered, on loopback with its port. If absent, `http://127.0.0.1:41873/callback/HASH`, or a port that the proxy chose when it registered itself; `auth login` prints it.',
    ),
  clientMetadataUrl: text('Write the https address of the document.')
    .optional()
    .describe(
      'The https address of a client ID metadata document. It must list the redirect URI of each issuer.',
    ),
  grant: z
    .enum(GRANTS, { error: `Write one of ${GRANTS.map(grant => `"${grant}"`).join(', ')}.` })
    .optional()
    .meta({
      description:
        'The OAuth grant. For users: `authorization_code`, or `device` for a login on another device. Without a user: `client_credentials`, `jwt-bearer` with the token of a workload (`assertion`), or `id-jag` with an ID token (`idp`).',
      default: 'authorization_code',
    }),
  key: text('Write the path of a PEM file, or a variable that holds the key.')
    .optional()
    .describe(
      'A private key (PKCS #8) instead of a secret: the path of a PEM file, or a variable with the key.',
    ),
  idp: idp.optional().describe('The identity provider, for `id-jag`.'),
  assertion: text('Write the path of a file.')
    .optional()
    .describe('A file with the token of a workload, for `jwt-bearer`.'),
  resource: z
    .union([z.literal(false), text('Write a text, or false.')], { error: 'Write a text, or false.' })
    .optional()
    .describe(
      'The value of the `resource` parameter, if the authorization server rejects the one that the server names; `false` to send none.',
    ),
  endpoints: endpoints.optional().describe('The endpoints of an authorization server without metadata.'),
  allowPrivate: flag().optional().meta({
    description:
      'Allow the server to name private addresses. Hosts in your configuration are always allowed.',
    default: false,
  }),
  dpop: flag()
    .optional()
    .meta({ description: 'Bind tokens to a key of the proxy (RFC 9449).', default: false }),
})

const FIX = 'Write "auto", true, false, or an object, such as { "clientId": "…" }.'

export const oauth = z.union([z.literal('auto'), z.boolean(), settings], { error: FIX })
