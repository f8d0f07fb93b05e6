import type { CallsView, ClientsView, ConfigView, ErrorsView, ServersView } from '../../control/api/views.js'
import type { ProxyStatus } from '../../status/status.js'

/** A server that is configured and switched on; those that are not have a name and a state alone. */
export type ServerView = Extract<ServersView['servers'][number], { readonly stateMs: number }>
export type AnyServer = ServersView['servers'][number]
export type PastCall = CallsView['recent'][number]
export type KeptError = ErrorsView['errors'][number]

/** How the page and the proxy stand. */
export type Link =
  | { readonly is: 'connecting' | 'live' | 'asleep' }
  | { readonly is: 'lost'; readonly why: string; readonly retryAt: number }
  | { readonly is: 'signed-out'; readonly why: string }

/** What the page knows; each part is undefined until it came. */
export interface PageState {
  readonly link: Link
  /** Milliseconds since 1970, on the clock of this browser: now, and when the servers were told of last. */
  readonly now: number
  readonly serversAt: number
  readonly statusAt: number
  readonly status: ProxyStatus | undefined
  readonly servers: ServersView | undefined
  readonly clients: ClientsView | undefined
  readonly config: ConfigView | undefined
  readonly underWay: CallsView['underWay']
  /** Oldest first, like the errors. */
  readonly calls: readonly PastCall[] | undefined
  readonly errors: readonly KeptError[] | undefined
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
  underWay: [],
  calls: undefined,
  errors: undefined,
}

/** As many as the proxy keeps. */
const CALLS = 512
const ERRORS = 1000

/**
 * The state after an event of the stream. The first event of a stream tells all there is; of calls and errors
 * those that follow tell only what is new.
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
      return { ...state, underWay, calls: [...before, ...recent].slice(-CALLS) }
    }
    case 'errors': {
      const before = isFirst ? [] : (state.errors ?? [])
      return { ...state, errors: [...before, ...(value as ErrorsView).errors].slice(-ERRORS) }
    }
    default:
      return state
  }
}

export const isOn = (server: AnyServer): server is ServerView => 'stateMs' in server

/** For how long a server has been in its state, on the clock of this browser. */
export const stateMsOf = ({ stateMs }: ServerView, { now, serversAt }: PageState): number =>
  stateMs + now - serversAt
