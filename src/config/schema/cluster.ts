import { z } from 'zod'
import { DEFAULTS } from '../defaults.js'
import { objectMend, text, texts, wait } from './values.js'

const URL_MEND = 'Write the address of a Redis or Valkey, such as "redis://redis:6379".'
const KEYS_MEND = 'Write a list of strings, such as ["${CLUSTER_KEY}"].'
const FILE_MEND = 'Write the path of a file in PEM.'
const PEER_EXAMPLE = '{ "listen": "0.0.0.0:8809", "advertise": "${POD_IP}:8809" }'

const tls = z.object(
  {
    cert: text(FILE_MEND).describe('The file of the certificate of this replica, in PEM.'),
    key: text(FILE_MEND).describe('The file of its private key.'),
    ca: text(FILE_MEND).describe('The file of the authority that signs the certificates of all replicas.'),
  },
  objectMend('{ "cert": "replica.pem", "key": "replica.key", "ca": "ca.pem" }'),
)

const peer = z.object(
  {
    listen: text('Write an address and a port, such as "0.0.0.0:8809".').meta({
      description: 'Where the other replicas reach this one; never a port that clients can reach.',
    }),
    advertise: text('Write an address and a port, such as "${POD_IP}:8809".')
      .optional()
      .describe('The same as the others write it; what is listened on, if that is one address.'),
    tls: tls.optional().describe('Certificates for both sides; without them the link is plain.'),
  },
  objectMend(PEER_EXAMPLE),
)

/** How several replicas of `serve` are one proxy. */
export const cluster = z.object(
  {
    url: text(URL_MEND).describe(
      'The Redis (7.0 or newer) or Valkey (7.2 or newer) that all replicas share: redis://, or rediss:// with TLS.',
    ),
    keys: texts(KEYS_MEND).describe(
      'Keys of 32 bytes in base64, the same for all replicas. The first one seals, all of them open: a new one is added last, then put first, then the old one is removed.',
    ),
    peer: peer.describe('How the replicas reach each other.'),
    lease: wait().optional().meta({
      description: 'How long a replica counts as alive after it was last heard of.',
      default: '6s',
    }),
    linger: wait().optional().meta({
      description: 'How long a replica that ends still takes clients, until the load balancer has noticed.',
      default: '5s',
    }),
    prefix: z
      .string({ error: 'Write a short name, such as "mp".' })
      .regex(/^[\w-]{1,32}$/, { error: 'Use up to 32 of A to Z, a to z, 0 to 9, "_" and "-".' })
      .optional()
      .meta({ description: 'What the names of all keys begin with.', default: DEFAULTS.cluster.prefix }),
  },
  objectMend(`{ "url": "redis://redis:6379", "keys": ["\${CLUSTER_KEY}"], "peer": ${PEER_EXAMPLE} }`),
)
