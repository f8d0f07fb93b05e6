import { z } from 'zod'
import { flag, objectMend, text } from './values.js'

const ISSUER_MEND = 'Write the address of the authorization server, such as "https://login.example.com".'
const CLIENT_MEND = 'Write the id that you got when you registered an app there.'
const SECRET_MEND = 'Write a variable, such as "${CLIENT_SECRET}".'
const SCOPES_MEND = 'Write a list of scopes, such as ["read", "write"].'
const URL_MEND = 'Write a whole address, such as "https://login.example.com/token".'
const GRANTS = ['authorization_code', 'device', 'client_credentials', 'id-jag', 'jwt-bearer'] as const

const url = (description: string) => text(URL_MEND).optional().describe(description)

const endpoints = z.object(
  {
    authorization: url('Where people sign in.'),
    token: url('Where tokens are got.'),
    registration: url('Where clients are registered.'),
    revocation: url('Where tokens are revoked.'),
    device: url('Where a login on another device begins.'),
  },
  objectMend('{ "authorization": "https://login.example.com/authorize", "token": "https://…" }'),
)

const idp = z.object(
  {
    issuer: text(ISSUER_MEND).describe('The address of the identity provider.'),
    clientId: text(CLIENT_MEND).describe('The id that it knows this proxy by.'),
    clientSecret: text(SECRET_MEND).optional().describe('The secret that belongs to it, from a variable.'),
    idToken: text('Write the path of a file.').describe('A file that holds an ID token of the person.'),
  },
  objectMend('{ "issuer": "https://login.example.com", "clientId": "…", "idToken": "./id-token" }'),
)

const settings = z.object({
  clientId: text(CLIENT_MEND)
    .optional()
    .describe('The id of an app that was registered by hand; found or registered by itself if absent.'),
  clientSecret: text(SECRET_MEND).optional().describe('The secret that belongs to it, from a variable.'),
  issuer: text(ISSUER_MEND)
    .optional()
    .describe('The authorization server, if the server names several, or must not name another.'),
  scopes: z
    .array(text(SCOPES_MEND), { error: SCOPES_MEND })
    .optional()
    .describe('The scopes to ask for; those that the server asks for if absent.'),
  redirectUri: text('Write an address of this machine, such as "http://localhost:3118/callback".')
    .optional()
    .describe('Where the browser is sent after a login, as it was registered.'),
  clientMetadataUrl: text('Write the https address of the document.')
    .optional()
    .describe('The address of a document that says who this client is, for servers that take one.'),
  grant: z
    .enum(GRANTS, { error: `Write one of ${GRANTS.map(grant => `"${grant}"`).join(', ')}.` })
    .optional()
    .meta({
      description: 'How tokens are got: by a person, or by the proxy itself.',
      default: 'authorization_code',
    }),
  key: text('Write the path of a PEM file, or a variable that holds the key.')
    .optional()
    .describe('The private key of this client, in place of a secret.'),
  idp: idp.optional().describe('Who vouches for the person, for id-jag.'),
  assertion: text('Write the path of a file.')
    .optional()
    .describe('A file that holds the token of a workload, for jwt-bearer.'),
  resource: z
    .union([z.literal(false), text('Write a text, or false.')], { error: 'Write a text, or false.' })
    .optional()
    .describe('What is sent as "resource" in place of what the server names; false for none.'),
  endpoints: endpoints.optional().describe('The endpoints of an authorization server without metadata.'),
  allowPrivate: flag()
    .optional()
    .meta({ description: 'Whether addresses that the server names may be private ones.', default: false }),
  dpop: flag()
    .optional()
    .meta({ description: 'Whether tokens are bound to a key of the proxy (RFC 9449).', default: false }),
})

const MEND = 'Write "auto", true, false, or an object, such as { "clientId": "…" }.'

export const oauth = z.union([z.literal('auto'), z.boolean(), settings], { error: MEND })
