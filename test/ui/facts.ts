import type { CallsView, ServersView } from '../../src/control/api/views.js'
import type { ProxyStatus } from '../../src/telemetry/status/status.js'
import { NOTHING, type PageState, type ServerRow } from '../../src/ui/live/state.js'

// Minimal API responses.

export const slots = (calls = 0, errors = 0) =>
  Array.from({ length: 60 }, (_, n) =>
    n === 58
      ? { calls, errors, sumMs: calls * 5, longestMs: 40 }
      : { calls: 0, errors: 0, sumMs: 0, longestMs: 0 },
  )

export const server = (more: Partial<ServerRow> = {}): ServerRow => ({
  name: 'github',
  alias: 'github',
  state: 'ready',
  stateMs: 5000,
  transport: 'stdio',
  revision: '2025-11-25',
  pids: [7],
  connections: 1,
  clients: 2,
  items: { tools: 3, prompts: 0, resources: 1, templates: 0, skills: 0 },
  tokens: 900,
  truncated: [],
  failures: 0,
  why: undefined,
  retryMs: undefined,
  stderr: undefined,
  lastError: undefined,
  lastFault: undefined,
  remarks: [],
  line: 12,
  target: 'npx -y server-github',
  restarts: 0,
  restartedMs: undefined,
  rssBytes: 50 * 1024 * 1024,
  inFlight: 0,
  leftOut: { filter: 0, broken: 0, twice: 0 },
  hidden: [],
  p50Ms: 4,
  p99Ms: 40,
  slots: slots(3, 1),
  ...more,
})

export const servers = (
  all: ServersView['servers'],
  problems: ServersView['problems'] = [],
  troubles: ServersView['troubles'] = [],
): ServersView => ({
  ...{ version: 1, slotMs: 10_000, slowMs: undefined, overheadP99Ms: 1, refused: [] },
  ...{ servers: all, problems, troubles },
})

/** A problem of a server. */
export const trouble = (
  more: Partial<ServersView['troubles'][number]> = {},
): ServersView['troubles'][number] => ({
  level: 'bad',
  about: 'github',
  server: 'github',
  view: 'servers',
  kind: 'exited',
  words: 'exited with code 3',
  command: 'mcp-proxy logs github',
  ...more,
})

export const status = (more: Partial<ProxyStatus> = {}): ProxyStatus => ({
  name: 'mcp-proxy',
  version: '1.2.3',
  pid: 1,
  state: 'ready',
  upMs: 7_200_000,
  sessions: 2,
  calls: 1,
  oldestCallMs: undefined,
  inFlight: [],
  rssBytes: 80 * 1024 * 1024,
  pressure: 0,
  limits: {},
  servers: [],
  leaving: [],
  exposed: [],
  auth: undefined,
  config: undefined,
  ...more,
})

export const call = (
  n: number,
  more: Partial<CallsView['recent'][number]> = {},
): CallsView['recent'][number] => ({
  n,
  client: 4,
  clientName: undefined,
  method: 'tools/call',
  server: 'github',
  name: 'search',
  errorId: undefined,
  outcome: 'ok',
  at: '2026-11-23T10:00:00.000Z',
  ms: 12,
  ...more,
})

export const state = (more: Partial<PageState> = {}): PageState => ({
  ...NOTHING,
  link: { is: 'live' },
  now: 1_000_000,
  serversAt: 1_000_000,
  statusAt: 1_000_000,
  status: status(),
  servers: servers([server()]),
  ...more,
})
