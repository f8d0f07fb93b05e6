import { z } from 'zod'
import { DEFAULTS } from '../defaults.js'
import { flag, objectMend, text } from './values.js'

// A key that is misspelled here could let somebody in: unknown ones are errors, where others are warnings.

const SCOPES_MEND = 'Write a list of scopes, such as ["mcp", "github"]; a scope has no spaces and no quotes.'
/** A scope (RFC 6749 §3.3). */
const scope = (mend: string) =>
  z.string({ error: mend }).regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, { error: mend })
const scopes = () => z.array(scope(SCOPES_MEND), { error: SCOPES_MEND })

export const access = z.strictObject(
  {
    see: scopes().optional().describe('Without all of these scopes nothing of the server is there.'),
    call: z
      .record(z.string(), scopes(), objectMend('{ "delete_*": ["github:admin"] }'))
      .optional()
      .describe('Further scopes for calls, by patterns of the server’s own tool names.'),
  },
  objectMend('{ "see": ["github"], "call": { "delete_*": ["github:admin"] } }'),
)

const HASH_MEND = 'Write "sha256:" and 64 hexadecimal digits, as `mcp-proxy auth token` prints them.'
const hash = () => z.string({ error: HASH_MEND }).regex(/^sha256:[0-9a-fA-F]{64}$/, { error: HASH_MEND })

const EXPIRES_MEND = 'Write a day, such as "2027-06-30", or a time, such as "2027-06-30T12:00:00Z".'
const ISSUER_MEND = 'Write the address of the issuer, such as "https://login.example.com".'
const CLIENT_MEND = 'Write the id that the issuer knows this proxy by.'
const SECRET_MEND = 'Write a variable, such as "${CLIENT_SECRET}".'
const CLAIM_MEND = 'Write the name of a claim, such as "groups" or "realm_access.roles".'

const token = z.strictObject(
  {
    name: text('Write a name, such as "laptop".').optional().describe('What this token is called.'),
    hash: hash().optional().describe('The SHA-256 of the token.'),
    token: text('Write a variable, such as "${CI_TOKEN}".')
      .optional()
      .describe('The token itself, from a variable.'),
    expires: text(EXPIRES_MEND)
      .optional()
      .describe('The day after which it is no longer accepted, or the time.'),
  },
  objectMend('{ "name": "laptop", "hash": "sha256:…" }'),
)

const person = z.strictObject(
  {
    tokens: z
      .array(token, { error: 'Write a list of tokens, as `mcp-proxy auth token` prints them.' })
      .optional()
      .describe('Tokens that stand for this person.'),
    subjects: z
      .array(
        z.strictObject(
          {
            issuer: text(ISSUER_MEND).describe('The issuer, as its tokens have it.'),
            sub: text('Write the subject as it stands in tokens.').describe(
              'The subject, as the tokens of this issuer have it.',
            ),
          },
          objectMend('{ "issuer": "https://login.example.com", "sub": "f3c1" }'),
        ),
        { error: 'Write a list, such as [{ "issuer": "https://login.example.com", "sub": "f3c1" }].' },
      )
      .optional()
      .describe('The same person with a token of an issuer.'),
    scopes: scopes().optional().describe('What this person may do; the base scope if absent.'),
  },
  objectMend('{ "tokens": [{ "hash": "sha256:…" }], "scopes": ["mcp"] }'),
)

const issuer = z.strictObject(
  {
    issuer: text(ISSUER_MEND).describe('The address of the issuer, exactly as its tokens have it.'),
    audience: z
      .array(text('Write an audience as a string.'), { error: 'Write a list of audiences.' })
      .optional()
      .describe('Whom its tokens may be for; the addresses of the endpoints if absent.'),
    scopeClaim: text(CLAIM_MEND)
      .optional()
      .describe('The claim that holds the scopes, such as "roles"; "scope" or "scp" if absent.'),
    groupsClaim: text(CLAIM_MEND)
      .optional()
      .describe('The claim that holds the groups for "grants", such as "realm_access.roles".'),
    jwksUri: text('Write the address of its keys.')
      .optional()
      .describe('The address of its keys; found in its metadata if absent.'),
    strictType: flag()
      .optional()
      .meta({ description: 'Whether only tokens of the type at+jwt are accepted.', default: false }),
    introspection: z
      .strictObject(
        {
          clientId: text(CLIENT_MEND).describe('The id that the issuer knows this proxy by.'),
          clientSecret: text(SECRET_MEND).describe('The secret that belongs to it, from a variable.'),
          tokens: text('Write how its tokens begin, such as "tok_".')
            .optional()
            .describe('How its tokens begin, or a pattern with *; it is asked about no others.'),
        },
        objectMend('{ "clientId": "mcp-proxy", "clientSecret": "${INTROSPECT_SECRET}" }'),
      )
      .optional()
      .describe('How to ask the issuer about tokens that are no JWT.'),
    allowHttp: flag()
      .optional()
      .meta({ description: 'Whether the issuer may be reached without TLS.', default: false }),
  },
  objectMend('{ "issuer": "https://login.example.com" }'),
)

const machine = z.strictObject(
  {
    hash: hash().optional().describe('The SHA-256 of its secret.'),
    secret: text(SECRET_MEND).optional().describe('Its secret, from a variable.'),
    jwks: text('Write the path of a file.').optional().describe('A file with its public keys (RFC 7517).'),
    scopes: scopes().optional().describe('What it may do; the base scope if absent.'),
  },
  objectMend('{ "jwks": "./nightly.jwks.json", "scopes": ["mcp"] }'),
)

const login = z.strictObject(
  {
    issuer: text(ISSUER_MEND).describe('The address of the OpenID provider.'),
    clientId: text(CLIENT_MEND).describe('The id that the provider knows this proxy by.'),
    clientSecret: text(SECRET_MEND).optional().describe('The secret that belongs to it, from a variable.'),
    groupsClaim: text(CLAIM_MEND).optional().describe('The claim that holds the groups for "grants".'),
    allowHttp: flag()
      .optional()
      .meta({ description: 'Whether the provider may be reached without TLS.', default: false }),
  },
  objectMend('{ "issuer": "https://login.example.com", "clientId": "mcp-proxy" }'),
)

const embedded = z.strictObject(
  {
    registration: z.enum(['open', 'off'], { error: 'Write "open" or "off".' }).optional().meta({
      description: 'Whether clients may register themselves.',
      default: DEFAULTS.embedded.registration,
    }),
    privateRedirects: z
      .array(text('Write a whole address.'), { error: 'Write a list of redirect URIs.' })
      .optional()
      .meta({
        description: 'Redirect URIs with a private scheme that are accepted, exactly as written.',
        default: DEFAULTS.embedded.privateRedirects,
      }),
    clients: z
      .record(z.string().min(1), machine, objectMend('{ "nightly": { "jwks": "./nightly.jwks.json" } }'))
      .optional()
      .describe('Programs that authenticate as themselves (client_credentials), by their client id.'),
    login: login.optional().describe('The OpenID provider at which people sign in.'),
  },
  { error: 'Write true, or an object, such as { "registration": "open" }.' },
)

export const auth = z.strictObject(
  {
    publicUrl: text('Write scheme and host, such as "https://mcp.example.com".')
      .optional()
      .describe(
        'Scheme, host and port under which clients reach the proxy; the address it listens on if absent.',
      ),
    loopback: z.enum(['token', 'open'], { error: 'Write "token" or "open".' }).optional().meta({
      description: 'Whether programs of this machine need a token, or come in as the user of the proxy.',
      default: DEFAULTS.auth.loopback,
    }),
    baseScope: scope('Write one scope, such as "mcp".').optional().meta({
      description: 'The scope without which nothing is allowed.',
      default: DEFAULTS.auth.baseScope,
    }),
    people: z
      .record(z.string().min(1), person, objectMend('{ "alice": { "tokens": [{ "hash": "sha256:…" }] } }'))
      .optional()
      .describe('Who has a token of this proxy, by name.'),
    issuers: z
      .array(issuer, { error: 'Write a list, such as [{ "issuer": "https://login.example.com" }].' })
      .optional()
      .describe('Authorization servers whose tokens are accepted.'),
    embedded: z
      .union([z.boolean(), embedded], {
        error: 'Write true, or an object, such as { "registration": "open" }.',
      })
      .optional()
      .describe('An authorization server of the proxy itself.'),
    grants: z
      .array(
        z.strictObject(
          {
            group: text('Write the name of a group.').describe('The name of a group, as tokens have it.'),
            scopes: scopes().describe('What its members may do.'),
          },
          objectMend('{ "group": "developers", "scopes": ["mcp"] }'),
        ),
        { error: 'Write a list, such as [{ "group": "developers", "scopes": ["mcp"] }].' },
      )
      .optional()
      .describe('The scopes of members of a group.'),
    scopeImplies: z
      .record(z.string(), scopes(), objectMend('{ "github:admin": ["github"] }'))
      .optional()
      .describe('From a scope to those that it includes.'),
  },
  objectMend('{ "people": { "alice": { "tokens": [{ "hash": "sha256:…" }] } } }'),
)
