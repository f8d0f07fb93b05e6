import { z } from 'zod'
import { flag, glob, objectFix, plain, text } from './values.js'

// Unknown keys are errors here, not warnings: a misspelled key could grant access.

const SCOPES_FIX =
  'Write a list of scopes, such as ["mcp", "github"]; scopes cannot contain spaces or quotes.'
/** A scope (RFC 6749 §3.3). */
const scope = (fix: string) => z.string({ error: fix }).regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, { error: fix })
export const scopes = () => z.array(scope(SCOPES_FIX), { error: SCOPES_FIX })

export const access = z.strictObject(
  {
    see: scopes()
      .optional()
      .describe(
        'Scopes that a caller needs to see the server at all; a caller that lacks one sees nothing of it.',
      ),
    call: z
      .record(glob('delete_*'), scopes(), objectFix('{ "delete_*": ["github:admin"] }'))
      .optional()
      .describe(
        'Further scopes for calls, by patterns of the server’s own tool names. A call without them is answered with 403 and `insufficient_scope`, so a client can request more.',
      ),
  },
  objectFix('{ "see": ["github"], "call": { "delete_*": ["github:admin"] } }'),
)

const HASH_FIX = 'Write "sha256:" and 64 hexadecimal digits, as `mcp-proxy auth token` prints them.'
const hash = () => z.string({ error: HASH_FIX }).regex(/^sha256:[0-9a-fA-F]{64}$/, { error: HASH_FIX })

const EXPIRES_FIX = 'Write a day, such as "2027-06-30", or a time, such as "2027-06-30T12:00:00Z".'
const ISSUER_FIX = 'Write the address of the issuer, such as "https://login.example.com".'
const CLIENT_FIX = 'Write the client id of this proxy at the issuer.'
const SECRET_FIX = 'Write a variable, such as "${CLIENT_SECRET}".'
const CLAIM_FIX = 'Write the name of a claim, such as "groups" or "realm_access.roles".'

const token = z.strictObject(
  {
    name: text('Write a name, such as "laptop".').optional().describe('A name for the token.'),
    hash: hash().optional().describe('The SHA-256 of the token, as `mcp-proxy auth token NAME` prints it.'),
    token: text('Write a variable, such as "${CI_TOKEN}".')
      .optional()
      .describe('The token itself, from a variable; an alternative to `hash`.'),
    for: z
      .literal('page', { error: 'Write "page", or remove "for".' })
      .optional()
      .describe('`page`: the token only identifies its user on approval pages, and is refused elsewhere.'),
    expires: text(EXPIRES_FIX)
      .optional()
      .describe('The last day (UTC) or the time at which the token expires.'),
  },
  objectFix('{ "name": "laptop", "hash": "sha256:…" }'),
)

const person = z.strictObject(
  {
    tokens: z
      .array(token, { error: 'Write a list of tokens, as `mcp-proxy auth token` prints them.' })
      .optional()
      .describe('Personal tokens of this user.'),
    subjects: z
      .array(
        z.strictObject(
          {
            issuer: text(ISSUER_FIX).describe('The issuer, exactly as in `iss` of its tokens.'),
            sub: text('Write the subject as in the tokens.').describe(
              'The subject, exactly as in `sub` of its tokens.',
            ),
          },
          objectFix('{ "issuer": "https://login.example.com", "sub": "f3c1" }'),
        ),
        { error: 'Write a list, such as [{ "issuer": "https://login.example.com", "sub": "f3c1" }].' },
      )
      .optional()
      .describe('Subjects of issuers that identify the same user.'),
    scopes: scopes().optional().describe('Scopes of this user; the base scope if absent.'),
  },
  objectFix('{ "tokens": [{ "hash": "sha256:…" }], "scopes": ["mcp"] }'),
)

const issuer = z.strictObject(
  {
    issuer: text(ISSUER_FIX).describe('The address of the issuer, exactly as in `iss` of its tokens.'),
    audience: z
      .array(text('Write an audience as a string.'), { error: 'Write a list of audiences.' })
      .optional()
      .describe(
        'Accepted values of `aud` in addition to the addresses of the proxy, for an issuer that does not support `resource` (RFC 8707).',
      ),
    scopeClaim: text(CLAIM_FIX)
      .optional()
      .describe('The claim with the scopes, a list or separated by spaces; `scope` or `scp` if absent.'),
    groupsClaim: text(CLAIM_FIX)
      .optional()
      .describe(
        'The claim with the groups for `grants`, such as `realm_access.roles`; dots lead into objects.',
      ),
    jwksUri: text('Write the address of its keys.')
      .optional()
      .describe('The address of its keys; read from its metadata if absent.'),
    strictType: flag()
      .optional()
      .meta({ description: 'Accept only tokens of the type `at+jwt` (RFC 9068).', default: false }),
    introspection: z
      .strictObject(
        {
          clientId: text(CLIENT_FIX).describe('The client id of this proxy at the issuer.'),
          clientSecret: text(SECRET_FIX).describe('The client secret, from a variable.'),
          tokens: text('Write the prefix of its tokens, such as "tok_".')
            .optional()
            .describe(
              'A prefix of its tokens, or a pattern with `*`; the issuer is not asked about other tokens.',
            ),
        },
        objectFix('{ "clientId": "mcp-proxy", "clientSecret": "${INTROSPECT_SECRET}" }'),
      )
      .optional()
      .describe(
        'How to ask the issuer about tokens that are not JWTs (RFC 7662). Several issuers are asked in order until one knows the token; with `tokens` in each, no issuer sees the tokens of another.',
      ),
    allowHttp: flag()
      .optional()
      .meta({ description: 'Allow plain HTTP to an issuer on another machine.', default: false }),
  },
  objectFix('{ "issuer": "https://login.example.com" }'),
)

const machine = z.strictObject(
  {
    hash: hash().optional().describe('The SHA-256 of its secret, as `mcp-proxy auth token` prints it.'),
    secret: text(SECRET_FIX).optional().describe('Its secret, from a variable; an alternative to `hash`.'),
    jwks: text('Write the path of a file.')
      .optional()
      .describe('A file with its public keys (RFC 7517); an alternative to a secret.'),
    scopes: scopes().optional().describe('Its scopes; the base scope if absent.'),
  },
  objectFix('{ "jwks": "./nightly.jwks.json", "scopes": ["mcp"] }'),
)

const login = z.strictObject(
  {
    issuer: text(ISSUER_FIX).describe('The address of the OpenID provider.'),
    clientId: text(CLIENT_FIX).describe('The client id of this proxy at the provider.'),
    clientSecret: text(SECRET_FIX).optional().describe('The client secret, from a variable.'),
    groupsClaim: text(CLAIM_FIX).optional().describe('The claim with the groups for `grants`.'),
    allowHttp: flag()
      .optional()
      .meta({ description: 'Allow plain HTTP to a provider on another machine.', default: false }),
  },
  objectFix('{ "issuer": "https://login.example.com", "clientId": "mcp-proxy" }'),
)

const embedded = z.strictObject(
  {
    registration: plain(z.enum(['open', 'off'], { error: 'Write "open" or "off".' }), {
      description:
        'Dynamic client registration. With `off`, only `clients` and clients with a metadata document can connect.',
      default: 'open',
      reload: 'restart',
    }),
    privateRedirects: plain(
      z.array(text('Write a whole address.'), { error: 'Write a list of redirect URIs.' }),
      {
        description:
          'Accepted redirect URIs with a private scheme, compared exactly; `[]` for none. The default is the address that Cursor registers.',
        default: ['cursor://anysphere.cursor-mcp/oauth/callback'],
        reload: 'restart',
      },
    ),
    clients: z
      .record(z.string().min(1), machine, objectFix('{ "nightly": { "jwks": "./nightly.jwks.json" } }'))
      .optional()
      .describe('Programs that authenticate as themselves (`client_credentials`), by client id.'),
    login: login
      .optional()
      .describe(
        'The OpenID provider at which users sign in. It knows the proxy as one client, with the redirect URI `<publicUrl>/oauth/callback`.',
      ),
  },
  { error: 'Write true, or an object, such as { "registration": "open" }.' },
)

export const authSchema = z.strictObject(
  {
    publicUrl: text('Write the address, such as "https://mcp.example.com".')
      .optional()
      .describe(
        'Scheme, host, port and path under which clients reach the proxy, for example through a reverse proxy; the address it listens on if absent. Its host is accepted as `Host`. Required for `issuers` and `embedded` when other machines can reach the proxy, because tokens name it.',
      ),
    loopback: plain(z.enum(['token', 'open'], { error: 'Write "token" or "open".' }), {
      description:
        'With `open`, programs on this machine need no token and act as the user of the proxy. Not allowed with a `publicUrl` of another host, since all requests of a reverse proxy come from this machine.',
      default: 'token',
      reload: 'restart',
    }),
    baseScope: plain(scope('Write one scope, such as "mcp".'), {
      description: 'The scope that every token needs; requests without it get 403.',
      default: 'mcp',
      reload: 'restart',
    }),
    people: z
      .record(z.string().min(1), person, objectFix('{ "alice": { "tokens": [{ "hash": "sha256:…" }] } }'))
      .optional()
      .describe('Users with personal tokens of this proxy, by name.')
      .meta({ reload: 'live' }),
    issuers: z
      .array(issuer, { error: 'Write a list, such as [{ "issuer": "https://login.example.com" }].' })
      .optional()
      .describe('Authorization servers whose tokens are accepted.'),
    embedded: z
      .union([z.boolean(), embedded], {
        error: 'Write true, or an object, such as { "registration": "open" }.',
      })
      .optional()
      .describe('The authorization server of the proxy itself: `true`, or an object.'),
    grants: z
      .array(
        z.strictObject(
          {
            group: text('Write the name of a group.').describe('The name of a group, as in the tokens.'),
            scopes: scopes().describe('The scopes of its members.'),
          },
          objectFix('{ "group": "developers", "scopes": ["mcp"] }'),
        ),
        { error: 'Write a list, such as [{ "group": "developers", "scopes": ["mcp"] }].' },
      )
      .optional()
      .describe('Scopes for the members of groups.')
      .meta({ reload: 'live' }),
    scopeImplies: z
      .record(scope(SCOPES_FIX), scopes(), objectFix('{ "github:admin": ["github"] }'))
      .optional()
      .describe('Maps a scope to the scopes that it includes.')
      .meta({ reload: 'live' }),
  },
  objectFix('{ "people": { "alice": { "tokens": [{ "hash": "sha256:…" }] } } }'),
)
