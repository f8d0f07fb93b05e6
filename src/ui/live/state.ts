import type { CallsView, ClientsView, ConfigView, ErrorsView, ServersView } from '../../control/api/views.js'
import type { ProxyStatus } from '../../telemetry/status/status.js'

/** An enabled server. Disabled ones have only a name and a state. */
export type ServerRow = Extract<ServersView['servers'][number], { readonly stateMs: number }>
export type PageProblem = ServersView['troubles'][number]
export type AnyServer = ServersView['servers'][number]
export type CallRow = CallsView['recent'][number]
export type ErrorRow = ErrorsView['errors'][number]

/** The connection between page and proxy. */
export type Link =
  | { readonly is: 'connecting' | 'live' | 'asleep' }
  | { readonly is: 'lost'; readonly why: string; readonly retryAt: number }
  | { readonly is: 'signed-out'; readonly why: string }

/** The state of the page. Each part is undefined until it arrives. */
export interface PageState {
  readonly link: Link
  /** Milliseconds since 1970 on this browser's clock: now, and the last update of the servers. */
  readonly now: number
  readonly serversAt: number
  readonly statusAt: number
  readonly status: ProxyStatus | undefined
  readonly servers: ServersView | undefined
  readonly clients: ClientsView | undefined
  readonly config: ConfigView | undefined
  readonly inFlight: CallsView['underWay']
  /** Oldest first, like the errors. */
  readonly calls: readonly CallRow[] | undefined
  readonly errors: readonly ErrorRow[] | undefined
}

export const NOTHING: PageState = {
  link: { is: 'connecting' },
  now: 0,
  serversAt: 0,
  statusAt: 0,
  status: undefined,
  servers: undefined,
  clients: undefined,
  config: undefined,
  inFlight: [],
  calls: undefined,
  errors: undefined,
}

/** As many as the proxy keeps. */
const CALLS = 512
const ERRORS = 1000

/**
 * Returns the state after an event. The first event of a stream has everything; later ones have only new
 * calls and errors.
 */
export const afterEvent = (
  state: PageState,
  { event, value, isFirst }: { readonly event: string; readonly value: unknown; readonly isFirst: boolean },
): PageState => {
  switch (event) {
    case 'status':
      return { ...state, status: value as ProxyStatus, statusAt: state.now }
    case 'servers':
      return { ...state, servers: value as ServersView, serversAt: state.now }
    case 'clients':
      return { ...state, clients: value as ClientsView }
    case 'config':
      return { ...state, config: value as ConfigView }
    case 'calls': {
      const { underWay, recent } = value as CallsView
      const before = isFirst ? [] : (state.calls ?? [])
      return { ...state, inFlight: underWay, calls: [...before, ...recent].slice(-CALLS) }
    }
    case 'errors': {
      const before = isFirst ? [] : (state.errors ?? [])
      return { ...state, errors: [...before, ...(value as ErrorsView).errors].slice(-ERRORS) }
    }
    default:
      return state
  }
}

export const isOn = (server: AnyServer): server is ServerRow => 'stateMs' in server

/** Returns the problems of a server, or the problems that need attention. */
export const problemsOf = (view: ServersView | undefined, name?: string): readonly PageProblem[] =>
  view?.troubles.filter(({ level, server }) => (name === undefined ? level !== 'meant' : server === name)) ??
  []

/** Returns a server's time in its state, on this browser's clock. */
export const stateMsOf = ({ stateMs }: ServerRow, { now, serversAt }: PageState): number =>
  stateMs + now - serversAt
