import { z } from 'zod'
import { flag, objectFix, text, words } from './values.js'

const PROXY_FIX =
  'Write the address of an HTTP proxy, such as "http://proxy.example.com:3128", or false for none.'
const PEM_FIX = 'Write the path of a PEM file.'

/** A forward proxy, or false. */
export const proxy = z.union([text(PROXY_FIX), z.literal(false, { error: PROXY_FIX })], { error: PROXY_FIX })

const tls = z.object(
  {
    ca: text(PEM_FIX)
      .optional()
      .describe('Certificate authorities to trust instead of the default ones, a PEM file.'),
    cert: text(PEM_FIX).optional().describe('The client certificate, a PEM file; needs `key`.'),
    key: text(PEM_FIX).optional().describe('The private key of `cert`, a PEM file.'),
    passphrase: text('Write the passphrase as a string, such as "${KEY_PASSPHRASE}".')
      .optional()
      .describe('Decrypts `key`.'),
    servername: text('Write the host name in the certificate of the server.')
      .optional()
      .describe('The name to expect in the certificate, if it is not the host of the address.'),
    insecure: flag().optional().meta({
      description:
        'Accept any certificate, so that others on the way can read and change all messages. For tests only.',
      default: false,
    }),
  },
  objectFix('{ "ca": "~/company-ca.pem" }'),
)

const HEADERS_FIX = 'Write a list of header names, such as ["X-Request-Id", "X-Tenant-*"].'

/** Keys of remote servers; see docs/networks.md. */
export const network = {
  proxy: proxy
    .optional()
    .describe(
      'The HTTP proxy for this server and its logins; `false` connects directly. Takes precedence over the top-level `proxy` and the environment; see docs/networks.md#proxies.',
    )
    .meta({ as: 'transport', reload: 'replaced' }),
  tls: tls
    .optional()
    .describe(
      'Certificates for this server, as PEM files relative to this file; see docs/networks.md#certificates.',
    )
    .meta({ as: 'transport', reload: 'replaced' }),
  forwardHeaders: words(HEADERS_FIX, /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}$/)
    .optional()
    .describe(
      'Headers of a client’s HTTP requests to pass on to this server, by name; `*` matches any characters. See docs/networks.md#headers.',
    )
    .meta({ as: 'transport', reload: 'replaced' }),
}
