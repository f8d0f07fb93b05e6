import { z } from 'zod'
import { flag, limit, objectFix, plain, text, wholeNumber, words } from './values.js'

const KEEP_FIX = 'Write a list of "errors" and "slow".'
const RATIO_FIX = 'Write a number from 0 to 1.'

export const log = z.object(
  {
    level: plain(
      z.enum(['debug', 'info', 'warn', 'error', 'silent'], {
        error: 'Write "debug", "info", "warn", "error" or "silent".',
      }),
      {
        description: 'The lowest level that is logged to stderr.',
        default: 'info',
        as: 'logLevel',
        reload: 'live',
      },
    ),
    slow: plain(limit(), {
      description: 'Log calls that take longer as warnings, without their contents.',
      default: 'off',
      as: 'slowMs',
      reload: 'live',
    }),
  },
  objectFix('{ "level": "info" }'),
)

const TRACING_FIX = 'Write "env", or an object such as { "endpoint": "http://127.0.0.1:4318" }.'

export const tracing = z.object(
  {
    endpoint: text('Write the address of a collector, such as "http://127.0.0.1:4318".').describe(
      'The address of an OTLP collector, to which `/v1/traces` is added.',
    ),
    protocol: plain(
      z.enum(['http/protobuf', 'http/json'], {
        error: 'Write "http/protobuf" or "http/json"; both use port 4318.',
      }),
      { description: 'The encoding of spans.', default: 'http/protobuf', reload: 'restart' },
    ),
    headers: z
      .record(
        z.string(),
        z.string({ error: 'Write the value as text.' }),
        objectFix('{ "x-api-key": "${KEY}" }'),
      )
      .optional()
      .describe('Headers for the collector, such as a key from a variable.'),
    ratio: plain(z.number({ error: RATIO_FIX }).min(0, { error: RATIO_FIX }).max(1, { error: RATIO_FIX }), {
      description: 'The share of requests without a parent trace that are traced, from 0 to 1.',
      default: 1,
      reload: 'restart',
    }),
    trustParents: plain(flag(), {
      description:
        'Let callers decide whether their requests are traced. If absent, only programs on this machine and callers with a credential decide.',
      reload: 'restart',
    }),
    perSecond: plain(wholeNumber(1, 10_000), {
      description: 'The maximum number of traces per second.',
      default: 100,
      reload: 'restart',
    }),
    keep: plain(z.array(z.enum(['errors', 'slow'], { error: KEEP_FIX }), { error: KEEP_FIX }), {
      description:
        'Calls to record although they are not sampled: `errors`, and `slow` for those above `log.slow`.',
      default: [],
      reload: 'restart',
    }),
    content: plain(flag(), {
      description:
        'Record arguments and results of tools, if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` allows it too.',
      default: false,
      reload: 'restart',
    }),
    baggage: plain(words('Write a list of keys, such as ["tenant"].'), {
      description: 'Baggage keys to pass from headers of clients to headers of servers.',
      default: [],
      reload: 'restart',
    }),
  },
  { error: TRACING_FIX },
)

/** With `"env"`, for editors only, as with "listen". */
export const tracingInEditors = z.union([
  tracing,
  z.literal('env').describe('Use the environment variables of OpenTelemetry.'),
])

const METRICS_FIX = 'Write false, or an object such as { "listen": "127.0.0.1:9464" }.'

export const metrics = z.object(
  {
    listen: text('Write an address and a port, such as "127.0.0.1:9464".')
      .optional()
      .describe('A separate address that serves only the metrics, such as `127.0.0.1:9464`.'),
    token: text('Write a token, such as "${METRICS_TOKEN}".')
      .optional()
      .describe(
        'Bearer token required to read metrics at `metrics.listen`; mandatory if other machines can reach that address.',
      ),
    tools: plain(z.enum(['counters', 'histograms'], { error: 'Write "counters" or "histograms".' }), {
      description: '`histograms` records a histogram of durations for each tool, in addition to counters.',
      default: 'counters',
      reload: 'restart',
    }),
    series: plain(wholeNumber(100, 100_000), {
      description: 'The maximum number of series of counters and histograms.',
      default: 2000,
      reload: 'restart',
    }),
  },
  { error: METRICS_FIX },
)

/** With `false`, for editors only, as with "listen". */
export const metricsInEditors = z.union([metrics, z.literal(false).describe('Collect no metrics.')])
