import { z } from 'zod'
import { glob, limit, objectFix, plain, waitTime, wholeNumber } from './values.js'

export const timeouts = z.object(
  {
    connect: plain(waitTime(), {
      description:
        'Maximum time for a server to start and answer `initialize`, including the installation of a package.',
      default: '60s',
      reload: 'retuned',
    }),
    initialize: plain(waitTime(), {
      description:
        'Maximum time for the answer to `initialize`, once the program runs or the address was reached; as `connect` if only that is set.',
      default: '60s',
      reload: 'retuned',
    }),
    probe: plain(waitTime(), {
      description:
        'Maximum time for a server to report its era. A program that does not answer is assumed to be `legacy`, an HTTP server to be unavailable.',
      default: '10s',
      reload: 'retuned',
    }),
    list: plain(waitTime(), {
      description: 'Maximum time for one page of a list.',
      default: '15s',
      reload: 'retuned',
    }),
    call: plain(limit(), {
      description:
        'Maximum silence during a call; each progress notification restarts the timer. With `off`, a call lasts as long as its client waits.',
      default: 'off',
      reload: 'retuned',
    }),
    total: plain(limit(), {
      description: 'Maximum time for a whole call, regardless of progress. `off` for no limit.',
      default: 'off',
      reload: 'retuned',
    }),
    tools: z
      .record(glob('export_*'), limit(), objectFix('{ "export_*": "5m" }'))
      .optional()
      .describe(
        'Maximum silence during calls of some tools, by patterns of the server’s own names, such as `{ "export_*": "5m" }`. The first match replaces `call`; `total` still applies.',
      ),
    ping: plain(limit(), {
      description:
        'Silence of a server without requests in flight after which the proxy pings it. `off` never pings it.',
      default: '30s',
      reload: 'retuned',
    }),
  },
  objectFix('{ "call": "5m" }'),
)

export const restart = z.object(
  {
    first: plain(waitTime(), {
      description:
        'Wait before a server that failed to start, or was lost before it answered any client, is started again; it doubles with each attempt. At least 100 ms.',
      default: '500ms',
      leastMs: 100,
      reload: 'retuned',
    }),
    max: plain(waitTime(), {
      description: 'Maximum wait between two attempts.',
      default: '30s',
      leastMs: 100,
      reload: 'retuned',
    }),
    failures: plain(wholeNumber(1, 100), {
      description:
        'Maximum consecutive failures within `window` before the server is given up: calls then fail at once, with the reason and the last lines of its stderr.',
      default: 5,
      reload: 'retuned',
    }),
    window: plain(waitTime(), {
      description: 'The time in which `failures` are counted.',
      default: '60s',
      reload: 'retuned',
    }),
    retry: plain(waitTime(), {
      description:
        'Wait before a server that was given up is started once more, while a client uses it. A call also starts it, 5 s after the last attempt. At least 1 s.',
      default: '60s',
      leastMs: 1000,
      reload: 'retuned',
    }),
  },
  objectFix('{ "max": "10s" }'),
)
