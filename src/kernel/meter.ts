import type { Counter, Histogram } from './series.js'

/** Names of all counters, without the suffix of their kind. */
export type CounterName =
  | 'mcp_proxy_tool_calls'
  | 'mcp_proxy_tool_call_seconds'
  | 'mcp_proxy_bytes'
  | 'mcp_proxy_server_starts'
  | 'mcp_proxy_server_losses'
  | 'mcp_proxy_repairs'
  | 'mcp_proxy_slow_results'
  | 'mcp_proxy_notifications_dropped'
  | 'mcp_proxy_list_errors'
  | 'mcp_proxy_questions'
  | 'mcp_proxy_refused'
  | 'mcp_proxy_decisions'
  | 'mcp_proxy_approvals'
  | 'mcp_proxy_log_lines'
  | 'mcp_proxy_server_log_lines'
  | 'mcp_proxy_audit_lines_dropped'
  | 'mcp_proxy_spans'

export type HistogramName =
  | 'mcp_server_operation_duration_seconds'
  | 'mcp_client_operation_duration_seconds'
  | 'mcp_server_session_duration_seconds'
  | 'mcp_client_session_duration_seconds'
  | 'mcp_proxy_overhead_seconds'
  | 'mcp_proxy_wait_seconds'
  | 'mcp_proxy_server_start_seconds'
  | 'mcp_proxy_cluster_engine_seconds'
  | 'mcp_proxy_cluster_forward_seconds'

/** Reason why a request or call was refused. */
export type RefusalReason = 'host' | 'origin' | 'auth' | 'malformed' | 'draining' | 'memory'

/** Kind of a repaired server message. */
export type RepairKind = 'item' | 'result' | 'error' | 'output_schema' | 'resend'

/**
 * PORT. Metrics of the layers below `app/`. Callers get a series once and keep it, to avoid looking up labels
 * for each message; it lives as long as its server is configured. Label values come from fixed tables, never
 * from clients. Implemented by `telemetry/metrics/registry.ts`.
 */
export interface Meter {
  /** Returns a series; `values` in the order of the family's labels, empty ones omitted. */
  counter(family: CounterName, ...values: readonly string[]): Counter
  histogram(family: HistogramName, ...values: readonly string[]): Histogram
  /** Changes when series may have been dropped: callers must get theirs again. */
  readonly epoch: number
}
