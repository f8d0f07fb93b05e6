import { z } from 'zod'
import { anyTexts, objectFix, plain, text, waitTime } from './values.js'

const URL_FIX = 'Write the address of a Redis or Valkey, such as "redis://redis:6379".'
const KEYS_FIX = 'Write a list of strings, such as ["${CLUSTER_KEY}"].'
const FILE_FIX = 'Write the path of a file in PEM.'
const PEER_EXAMPLE = '{ "listen": "0.0.0.0:8809", "advertise": "${POD_IP}:8809" }'

const tls = z.object(
  {
    cert: text(FILE_FIX).describe('The certificate of this replica, a PEM file.'),
    key: text(FILE_FIX).describe('The private key of this replica, a PEM file.'),
    ca: text(FILE_FIX).describe('The authority that signs the certificates of all replicas, a PEM file.'),
  },
  objectFix('{ "cert": "replica.pem", "key": "replica.key", "ca": "ca.pem" }'),
)

const peer = z.object(
  {
    listen: text('Write an address and a port, such as "0.0.0.0:8809".').describe(
      'The address and port on which this replica listens for the others. Clients must not be able to reach it.',
    ),
    advertise: text('Write an address and a port, such as "${POD_IP}:8809".')
      .optional()
      .describe('The address at which the others reach this replica; required if `listen` is a wildcard.'),
    tls: tls
      .optional()
      .describe('Certificates for both sides of the link; without them it is not encrypted.'),
  },
  objectFix(PEER_EXAMPLE),
)

/** Settings that make several replicas of `serve` one proxy. */
export const clusterSchema = z.object(
  {
    url: text(URL_FIX).describe(
      'The Redis (7.0 or newer) or Valkey (7.2 or newer) that all replicas share: `redis://`, or `rediss://` with TLS.',
    ),
    keys: anyTexts(KEYS_FIX).describe(
      'Keys of 32 bytes in base64, the same for all replicas. The first key encrypts, all keys decrypt. To replace a key, add the new one last, then move it to the front, then remove the old one.',
    ),
    peer: peer.describe('The link between the replicas.'),
    lease: plain(waitTime(), {
      description: 'How long a silent replica counts as alive.',
      default: '6s',
      leastMs: 500,
      reload: 'restart',
    }),
    linger: plain(waitTime(), {
      description:
        'How long a stopping replica keeps accepting clients, so that the load balancer notices in time.',
      default: '5s',
      leastMs: 0,
      reload: 'restart',
    }),
    prefix: plain(
      z
        .string({ error: 'Write a short name, such as "mp".' })
        .regex(/^[\w-]{1,32}$/, { error: 'Use up to 32 of A to Z, a to z, 0 to 9, "_" and "-".' }),
      { description: 'The prefix of all keys in Redis or Valkey.', default: 'mp', reload: 'restart' },
    ),
  },
  objectFix(`{ "url": "redis://redis:6379", "keys": ["\${CLUSTER_KEY}"], "peer": ${PEER_EXAMPLE} }`),
)
