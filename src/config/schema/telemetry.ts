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

/** The members that describe an OTLP collector. */
const collector = (path: string) => ({
  endpoint: text('Write the address of a collector, such as "http://127.0.0.1:4318".').describe(
    `The address of an OTLP collector, to which \`${path}\` is added.`,
  ),
  headers: z
    .record(
      z.string(),
      z.string({ error: 'Write the value as text.' }),
      objectFix('{ "x-api-key": "${KEY}" }'),
    )
    .optional()
    .describe('Headers for the collector, such as a key from a variable.'),
})

const protocol = z.enum(['http/protobuf', 'http/json'], {
  error: 'Write "http/protobuf" or "http/json"; both use port 4318.',
})

const TRACING_FIX = 'Write "env", or an object such as { "endpoint": "http://127.0.0.1:4318" }.'

export const tracing = z.object(
  {
    ...collector('/v1/traces'),
    protocol: plain(protocol, {
      description: 'The encoding of spans.',
      default: 'http/protobuf',
      reload: 'restart',
    }),
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

const AUDIT_TO = 'Write "off", "stderr", or the path of a file.'

export const auditSchema = z.object(
  {
    to: text(AUDIT_TO).optional().meta({
      description:
        'The destination of the lines: `off`, `stderr`, or the path of a file that only its user can read. Each line of a file is linked to the one before; `mcp-proxy audit verify` finds missing and edited lines.',
      default: 'off',
    }),
    arguments: flag().optional().meta({
      description: 'Include the arguments of tools and prompts; known secrets are masked.',
      default: false,
    }),
    strict: flag().optional().meta({
      description: 'Refuse calls while the lines cannot be written.',
      default: false,
    }),
    otlp: z
      .object(
        {
          ...collector('/v1/logs'),
          protocol: protocol.optional().meta({
            description: 'The encoding of log records.',
            default: 'http/protobuf',
          }),
        },
        objectFix('{ "endpoint": "http://127.0.0.1:4318" }'),
      )
      .optional()
      .describe('Sends each line to an OTLP collector as a log record.'),
  },
  { error: `${AUDIT_TO.slice(0, -1)}, or an object such as { "to": "audit.jsonl" }.` },
)

/** With the destination alone, for editors only, as with "listen". */
export const auditInEditors = z.union([
  auditSchema,
  z.string().min(1).describe('`off`, `stderr`, or the path of a file.'),
])
