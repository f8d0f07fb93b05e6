import { z } from 'zod'
import { DEFAULTS } from '../defaults.js'
import { flag, text, texts } from './values.js'

const originMend = 'Write a list of origins, such as ["https://app.example.com"].'
const PORT_MEND = 'Write a whole number from 0 to 65535; 0 takes any free port.'
const socketMend = 'Write the address of a socket, such as "unix:///run/user/1000/mcp.sock" or "pipe:///mcp".'

/** Where clients find us, in its long form. */
export const listen = z.object(
  {
    http: flag().optional().meta({
      description: 'Whether to listen for HTTP; false leaves only the socket.',
      default: DEFAULTS.listen.http,
    }),
    host: text('Write an address or host name, such as "127.0.0.1".')
      .optional()
      .meta({ description: 'The address to listen on.', default: DEFAULTS.listen.host }),
    port: z
      .int({ error: PORT_MEND })
      .min(0, { error: PORT_MEND })
      .max(65_535, { error: PORT_MEND })
      .optional()
      .meta({ description: 'The port to listen on; 0 takes any free one.', default: DEFAULTS.listen.port }),
    allowedHosts: texts('Write a list of host names, such as ["proxy.example.com"].')
      .optional()
      .describe('Host headers that are accepted beside those of the address that is listened on.'),
    allowedOrigins: texts(originMend).optional().describe('Origins of web pages that may call.'),
    sse: flag().optional().meta({
      description: 'Whether to serve HTTP+SSE at /sse on the same port, for clients that know nothing newer.',
      default: DEFAULTS.listen.sse,
    }),
    ws: flag().optional().meta({
      description: 'Whether to serve WebSocket at /ws on the same port.',
      default: DEFAULTS.listen.ws,
    }),
    socket: text(socketMend)
      .optional()
      .describe(
        'A socket to listen on as well: unix:///path for a unix domain socket, pipe:///name for a named pipe.',
      ),
  },
  { error: 'Write an object, such as { "port": 8808 }, or the address of a socket.' },
)

const SOCKET = /^(?:unix:|pipe:|\/|\\\\|\$\{)/

/**
 * The same as editors should take it, with the short form. The check of a union could not tell which member does not fit,
 * so `listen.ts` reads the short form apart.
 */
export const listenInEditors = z.union([
  listen,
  z.string().regex(SOCKET).describe('Only this socket, and no HTTP.'),
])
