import type { CounterName, HistogramName } from '../../kernel/meter.js'

/** Gauges, read on each scrape. */
export type GaugeName =
  | 'mcp_proxy_requests_in_flight'
  | 'mcp_proxy_server_requests_in_flight'
  | 'mcp_proxy_server_requests_parked'
  | 'mcp_proxy_clients'
  | 'mcp_proxy_approvals_waiting'
  | 'mcp_proxy_queue_bytes'
  | 'mcp_proxy_server_state'
  | 'mcp_proxy_server_connections'
  | 'mcp_proxy_server_processes'
  | 'mcp_proxy_server_resident_bytes'
  | 'mcp_proxy_items'
  | 'mcp_proxy_list_bytes'
  | 'mcp_proxy_items_left_out'
  | 'mcp_proxy_lock_differences'
  | 'mcp_proxy_cluster_members'
  | 'mcp_proxy_cluster_engine_up'
  | 'mcp_proxy_cluster_lease_age_seconds'
  | 'mcp_proxy_cluster_held'
  | 'mcp_proxy_ready'
  | 'mcp_proxy_memory_pressure'
  | 'mcp_proxy_config_last_reload_success'
  | 'mcp_proxy_config_last_reload_timestamp_seconds'
  | 'mcp_proxy_config_problems'
  | 'process_resident_memory_bytes'
  | 'process_open_fds'
  | 'process_max_fds'
  | 'process_start_time_seconds'
  | 'nodejs_heap_size_used_bytes'
  | 'nodejs_external_memory_bytes'
  | 'nodejs_eventloop_lag_seconds'
  | 'nodejs_eventloop_utilization_ratio'

/** Counters that other parts of the proxy keep. */
export type ReadCounterName =
  | 'mcp_proxy_limit_hits'
  | 'mcp_proxy_series_overflow'
  | 'mcp_proxy_cluster_forwards'
  | 'mcp_proxy_cluster_unavailable'
  | 'mcp_proxy_cluster_adoptions'
  | 'mcp_proxy_cluster_handovers'
  | 'mcp_proxy_cluster_fenced'
  | 'mcp_proxy_cluster_calls_lost'
  | 'process_cpu_seconds'

export type FamilyName = CounterName | HistogramName | GaugeName | ReadCounterName | 'mcp_proxy_build'

export interface FamilyInfo {
  readonly kind: 'counter' | 'gauge' | 'histogram' | 'info'
  readonly help: string
  readonly labels: readonly string[]
  /** The upper bounds of the buckets. */
  readonly bounds?: readonly number[]
}

/** The buckets of OpenTelemetry's MCP conventions, and smaller ones: a local call takes 0.2 ms. */
const DURATIONS = [
  ...[0.0005, 0.001, 0.0025, 0.005],
  ...[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
]
const SESSIONS = [...DURATIONS.slice(4), 1800, 7200, 43_200]
const OVERHEADS = [0.000_05, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25]

const counter = (help: string, ...labels: string[]) => ({ kind: 'counter', help, labels }) as const
const gauge = (help: string, ...labels: string[]) => ({ kind: 'gauge', help, labels }) as const
const histogram = (bounds: readonly number[], help: string, ...labels: string[]) =>
  ({ kind: 'histogram', help, labels, bounds }) as const

/** All families by their OpenMetrics name. docs/observability.md explains them. */
export const FAMILIES: Readonly<Record<FamilyName, FamilyInfo>> = {
  mcp_server_operation_duration_seconds: histogram(
    DURATIONS,
    'Requests of clients, from their arrival to their answer.',
    ...['mcp_method_name', 'error_type', 'rpc_response_status_code'],
  ),
  mcp_client_operation_duration_seconds: histogram(
    DURATIONS,
    'Requests of clients at servers, from sending to their answer.',
    ...['server', 'mcp_method_name', 'error_type', 'rpc_response_status_code', 'gen_ai_tool_name'],
  ),
  mcp_server_session_duration_seconds: histogram(
    SESSIONS,
    'Sessions of clients that have ended.',
    ...['mcp_protocol_version', 'network_protocol_name', 'error_type'],
  ),
  mcp_client_session_duration_seconds: histogram(
    SESSIONS,
    'Connections to servers that have ended.',
    ...['mcp_protocol_version', 'network_protocol_name', 'error_type'],
  ),
  mcp_proxy_overhead_seconds: histogram(
    OVERHEADS,
    "Time that the proxy added to requests that servers answered: the total, without the server's time and waits.",
  ),
  mcp_proxy_wait_seconds: histogram(
    DURATIONS,
    "Waits of requests inside the proxy: for a server's start, for a turn, parked with a question, or for its answer.",
    'reason',
  ),
  mcp_proxy_tool_calls: counter('Calls of tools, by outcome.', 'server', 'tool', 'outcome'),
  mcp_proxy_tool_call_seconds: counter('Total duration of calls of tools.', ...['server', 'tool', 'outcome']),
  mcp_proxy_bytes: counter('Bytes of params and results of requests at servers.', 'server', 'direction'),
  mcp_proxy_requests_in_flight: gauge('Requests of clients in flight.'),
  mcp_proxy_server_requests_in_flight: gauge('Requests in flight at a server, or waiting for it.', 'server'),
  mcp_proxy_server_requests_parked: gauge('Requests that wait for a client to answer a question.', 'server'),
  mcp_proxy_clients: gauge('Connected clients.', 'transport', 'mcp_protocol_version'),
  mcp_proxy_queue_bytes: gauge(
    'Queued bytes: for clients, for server programs, for the proxy itself (unread), and for clients that reconnect (replay).',
    'queue',
  ),
  mcp_proxy_server_state: gauge('1 for the current state of a server, else 0.', 'server', 'state'),
  mcp_proxy_server_connections: gauge('Connections to a server, open or not.', 'server'),
  mcp_proxy_server_processes: gauge('Processes of a server.', 'server'),
  mcp_proxy_server_resident_bytes: gauge('Resident memory of the processes of a server (Linux).', 'server'),
  mcp_proxy_server_starts: counter(
    'Attempts to start or reach a server: ok, or the reason of the failure.',
    ...['server', 'result'],
  ),
  mcp_proxy_server_losses: counter('Connections to a server that were lost.', 'server', 'reason'),
  mcp_proxy_server_start_seconds: histogram(DURATIONS, 'Starts of a server that succeeded.', 'server'),
  mcp_proxy_items: gauge('Items that clients see of a server.', 'server', 'list'),
  mcp_proxy_list_bytes: gauge('The size of these items as JSON.', 'server', 'list'),
  mcp_proxy_items_left_out: gauge(
    'Items of a server that clients do not see; 1 for a truncated list, whose length is unknown.',
    ...['server', 'list', 'reason'],
  ),
  mcp_proxy_lock_differences: gauge('Items of a server that differ from the lock file.', 'server'),
  mcp_proxy_list_errors: counter('Lists of a server that could not be read.', 'server', 'list'),
  mcp_proxy_repairs: counter('Repairs of messages of a server.', 'server', 'kind'),
  mcp_proxy_slow_results: counter(
    'Large results whose conversion blocked the proxy for at least 100 ms.',
    ...['server', 'method'],
  ),
  mcp_proxy_notifications_dropped: counter(
    'Notifications of a server that the proxy does not know and could not pass to a client.',
    'server',
  ),
  mcp_proxy_questions: counter('Questions of servers to clients, by result.', 'method', 'result'),
  mcp_proxy_limit_hits: counter('How often a limit was reached.', 'limit'),
  mcp_proxy_refused: counter(
    'Requests refused before they reached a server; malformed ones were not HTTP, JSON or a message.',
    'reason',
  ),
  mcp_proxy_decisions: counter('Decisions of rules about calls.', 'rule', 'decision'),
  mcp_proxy_approvals_waiting: gauge('Calls that wait for the approval of a person.'),
  mcp_proxy_approvals: counter('Approvals of calls that are no longer waiting.', 'result'),
  mcp_proxy_cluster_members: gauge('Replicas of the cluster, including this one.', 'state'),
  mcp_proxy_cluster_engine_up: gauge('1 while the engine answers this replica.'),
  mcp_proxy_cluster_engine_seconds: histogram(
    OVERHEADS,
    'Operations of the engine that the replicas share, answered or not.',
    'op',
  ),
  mcp_proxy_cluster_forward_seconds: histogram(
    DURATIONS,
    'POST requests forwarded to another replica, until the end of their answer.',
  ),
  mcp_proxy_cluster_lease_age_seconds: gauge('Time since the engine last renewed the lease of this replica.'),
  mcp_proxy_cluster_held: gauge('Requests that wait for a decision on their replica.'),
  mcp_proxy_cluster_forwards: counter(
    'Forwarded exchanges: lost if their outcome is unknown; unknown and refused if another replica took them.',
    'result',
  ),
  mcp_proxy_cluster_unavailable: counter('Requests whose replica did not become available.', 'reason'),
  mcp_proxy_cluster_adoptions: counter(
    'Adopted sessions, from their record or from their id alone; raced if another replica was faster.',
    'result',
  ),
  mcp_proxy_cluster_handovers: counter(
    'Sessions released for other replicas; failed if the engine did not store that.',
    'result',
  ),
  mcp_proxy_cluster_fenced: counter('Expired leases of this replica.'),
  mcp_proxy_cluster_calls_lost: counter('Exchanges whose replica died before they ended.'),
  mcp_proxy_ready: gauge('1 while new clients are served.'),
  mcp_proxy_memory_pressure: gauge('Memory pressure, from 0 to 4.'),
  mcp_proxy_config_last_reload_success: gauge('1 if the last reload succeeded.'),
  mcp_proxy_config_last_reload_timestamp_seconds: gauge('Time of the last successful reload.'),
  mcp_proxy_config_problems: gauge('Problems in the configuration at the last reload.', 'severity'),
  mcp_proxy_log_lines: counter('Lines that were logged.', 'level'),
  mcp_proxy_server_log_lines: counter('Lines of the stderr of a server that were logged.', 'server'),
  mcp_proxy_audit_lines_dropped: counter('Audit lines that could not be written.'),
  mcp_proxy_spans: counter('Spans of traces.', 'result'),
  mcp_proxy_series_overflow: counter(
    'Values counted under _overflow, because the maximum number of series is reached.',
    'family',
  ),
  mcp_proxy_build: { kind: 'info', help: 'The running version.', labels: ['version', 'node'] },
  process_cpu_seconds: counter('CPU time of the proxy.'),
  process_resident_memory_bytes: gauge('Resident memory of the proxy.'),
  process_open_fds: gauge('Open file descriptors.'),
  process_max_fds: gauge('Maximum number of file descriptors.'),
  process_start_time_seconds: gauge('When the process started, in seconds since 1970.'),
  nodejs_heap_size_used_bytes: gauge('Heap in use.'),
  nodejs_external_memory_bytes: gauge('Memory outside the heap, held by objects in it.'),
  nodejs_eventloop_lag_seconds: gauge('Delay of the last timer.'),
  nodejs_eventloop_utilization_ratio: gauge('Recent share of time in which the event loop was busy.'),
}

export const FAMILY_NAMES = Object.keys(FAMILIES) as FamilyName[]
