import type { AuditConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import type { Meter } from '../../kernel/meter.js'
import type { AuditEntry } from '../../mux/calls/audit.js'
import type { OtlpSender } from '../tracing/exporter.js'
import type { Attributes, LogRecord } from '../tracing/span.js'

type Collector = NonNullable<AuditConfig['otlp']>

interface RecordsContext {
  readonly clock: Clock
  readonly log: Logger
  readonly meter?: Meter | undefined
}

/** Places of a full queue that only lines about refusals, approvals and changed tools take. */
const RESERVE = 1024

/** Sends audit lines to an OTLP collector as log records. Loads the exporter in the background. */
export class AuditRecords {
  readonly #sender: Promise<OtlpSender<LogRecord> | undefined>

  constructor(collector: Collector, context: RecordsContext) {
    this.#sender = createSender(collector, context).catch((thrown: unknown) => {
      context.log.error({ err: thrown }, 'cannot load the exporter; no audit lines are sent')
      return undefined
    })
  }

  add(entry: AuditEntry, text: string): void {
    const record = recordOf(entry, text)
    void this.#sender.then(sender => sender?.add(record, entry.isKept))
  }

  /** Sends the remaining records in one short attempt. Never rejects. */
  async close(): Promise<void> {
    await (await this.#sender)?.close()
  }
}

const createSender = async (
  collector: Collector,
  { clock, log, meter }: RecordsContext,
): Promise<OtlpSender<LogRecord>> => {
  const [{ OtlpSender }, { exportSettingsOf }, { encodeLogsJson, encodeLogsProtobuf }] = await Promise.all([
    import('../tracing/exporter.js'),
    import('../tracing/settings.js'),
    import('../tracing/otlp.js'),
  ])
  const settings = exportSettingsOf(collector, '/v1/logs')
  return new OtlpSender<LogRecord>(
    {
      ...{ settings, clock, log },
      resource: { attributes: settings.resource, scope: { name: IDENTITY.name, version: IDENTITY.version } },
      count: (result, records) => {
        if (result === 'dropped') meter?.counter('mcp_proxy_audit_lines_dropped').add(records)
      },
    },
    {
      name: 'audit records',
      reserve: RESERVE,
      encode: { 'http/json': encodeLogsJson, 'http/protobuf': encodeLogsProtobuf },
    },
  )
}

/** OTLP `SeverityNumber`. */
const SEVERITY = { info: 9, warn: 13, error: 17 } as const

const recordOf = (entry: AuditEntry, text: string): LogRecord => {
  const { about, time, facts, spanId } = entry
  const { trace_id: traceId } = facts
  return {
    timeMs: time.getTime(),
    observedMs: Date.now(),
    severity: severityOf(entry),
    eventName: `mcp_proxy.audit.${about}`,
    body: text,
    attributes: attributesOf(entry),
    traceId: typeof traceId === 'string' ? traceId : undefined,
    spanId,
  }
}

const severityOf = ({ about, isKept, isFault = false }: AuditEntry): number => {
  if (isKept && about !== 'approval' && about !== 'chain') return SEVERITY.warn
  return isFault ? SEVERITY.error : SEVERITY.info
}

/** The attribute of the item's name, by method. */
const NAMED: Readonly<Record<string, string>> = {
  'tools/call': 'gen_ai.tool.name',
  'prompts/get': 'gen_ai.prompt.name',
}

const attributesOf = ({ about, facts, isFault }: AuditEntry): Attributes => {
  const { method, name, principal, server, decision, rule, outcome, approval } = facts
  const { id, by } = about === 'approval' ? facts : { ...(approval as AuditEntry['facts'] | undefined) }
  const found = {
    'mcp.method.name': method,
    'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
    ...(typeof method === 'string' && { [NAMED[method] ?? '']: name }),
    'error.type': isFault === true ? outcome : undefined,
    'user.id': principal,
    'mcp_proxy.server': server,
    'mcp_proxy.decision': decision,
    'mcp_proxy.rule': rule,
    'mcp_proxy.outcome': outcome,
    'mcp_proxy.approval.id': id,
    'mcp_proxy.approval.by': by,
  }
  return Object.fromEntries(
    Object.entries(found).filter(
      (each): each is [string, string] => each[0] !== '' && typeof each[1] === 'string',
    ),
  )
}
