import type { Counter, Histogram } from './series.js'

/** What is counted, each family under its name without the suffix that its kind has where it is written. */
export type CounterName =
  | 'mcp_proxy_tool_calls'
  | 'mcp_proxy_tool_call_seconds'
  | 'mcp_proxy_bytes'
  | 'mcp_proxy_server_starts'
  | 'mcp_proxy_server_losses'
  | 'mcp_proxy_repairs'
  | 'mcp_proxy_slow_results'
  | 'mcp_proxy_list_errors'
  | 'mcp_proxy_questions'
  | 'mcp_proxy_refused'
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

/** Why the port refused a request, or a call was not taken on. */
export type RefusalReason = 'host' | 'origin' | 'auth' | 'malformed' | 'draining' | 'memory'

/** What is mended of what a server says. */
export type RepairKind = 'item' | 'result' | 'error' | 'output_schema' | 'resend'

/**
 * PORT. Where the layers below `app/` count. A series is asked for once and kept by whoever counts, so that
 * nothing looks up labels on the way of a message; it lives as long as its server is configured. Label values
 * come from tables of ours, never from what a client wrote. Implemented by `telemetry/metrics/registry.ts`.
 */
export interface Meter {
  /** `values` in the order of the family's labels; an empty one is left out. */
  counter(family: CounterName, ...values: readonly string[]): Counter
  histogram(family: HistogramName, ...values: readonly string[]): Histogram
  /** Changes whenever series may have been forgotten: what is kept must be asked for again. */
  readonly epoch: number
}
