import { type JsonText, ownText, rawText, textMember, textOf } from '../../../kernel/json/text.js'
import type { SessionRecord, StateRequest } from '../../../rpc/directory.js'
import type { Outlet, ReplyStream } from '../../../rpc/host.js'
import { encodeNotification, type Message } from '../../../wire/jsonrpc.js'
import { SILENT } from './batch.js'
import { ServerSessions } from './server-sessions.js'
import type { LegacyUplink } from './uplink.js'

/** A longer introduction is not kept: its session dies with its replica. */
const INTRODUCTION_BYTES = 32 * 1024
/** So much of what a client set is kept; what is beyond, it has to set again. */
const REQUESTS_MAX = 1000
const REQUEST_BYTES = 4096

const SUBSCRIBE = 'resources/subscribe'
const UNSUBSCRIBE = 'resources/unsubscribe'
const SET_LEVEL = 'logging/setLevel'
const SETS: ReadonlySet<string> = new Set([SUBSCRIBE, UNSUBSCRIBE, SET_LEVEL])
const NOTHING = rawText('{}')
const LISTS = ['tools', 'prompts', 'resources']

/** What a client said of itself, and has set since, in the words in which it would be said again. */
export class SessionState {
  readonly #changed: () => void
  #introduction: JsonText | undefined
  #level: JsonText | undefined
  readonly #subscriptions = new Map<string, JsonText>()
  /** What it has at servers. */
  readonly servers: ServerSessions

  /** `changed` is called when there is something new. */
  constructor(changed: () => void) {
    this.#changed = changed
    this.servers = new ServerSessions(changed)
  }

  /** Whether it is enough for another replica. */
  get isKept(): boolean {
    return this.#introduction !== undefined
  }

  get kept(): Pick<SessionRecord, 'introduction' | 'requests' | 'servers'> {
    const requests: StateRequest[] = [...this.#subscriptions.values()].map(params => ({
      method: SUBSCRIBE,
      params,
    }))
    if (this.#level !== undefined) requests.push({ method: SET_LEVEL, params: this.#level })
    return { introduction: this.#introduction ?? NOTHING, requests, servers: this.servers.all }
  }

  introduced(params: JsonText = NOTHING): void {
    if (params.length <= INTRODUCTION_BYTES) this.#introduction = ownText(params)
  }

  /** Notes a request of the client; one that fails would fail again. */
  note({ method, params }: Message & { kind: 'request' }): void {
    if (!SETS.has(method) || params === undefined) return
    if (params.length > REQUEST_BYTES) return
    const uri = textMember(params, 'uri')
    if (method === SET_LEVEL) this.#level = ownText(params)
    else if (uri === undefined) return
    else if (method === UNSUBSCRIBE) this.#subscriptions.delete(uri)
    else if (this.#subscriptions.size < REQUESTS_MAX) this.#subscriptions.set(uri, ownText(params))
    this.#changed()
  }
}

/** A session that comes from another replica. */
interface Restored extends Outlet {
  readonly uplink: Pick<LegacyUplink, 'receive'>
  readonly state: SessionState | undefined
}

/**
 * Has a session that comes from another replica say all that again, and tells its client what it may have
 * missed meanwhile.
 */
export const replayState = (session: Restored, { introduction, requests, servers }: SessionRecord): void => {
  const { uplink, state } = session
  state?.servers.restore(servers)
  state?.introduced(introduction)
  const tell = (method: string, params?: JsonText): void =>
    session.notify(encodeNotification(method, params), method)
  const again = (method: string, params: JsonText, replies: ReplyStream): void => {
    const message = { kind: 'request', id: rawText(`"${session.nextRequestId()}"`), method, params } as const
    state?.note(message)
    uplink.receive(message, replies)
  }
  const end = (): void => {
    for (const list of LISTS) tell(`notifications/${list}/list_changed`)
    for (const { method, params } of requests) {
      const uri = method === SUBSCRIBE ? textMember(params, 'uri') : undefined
      if (uri !== undefined) tell('notifications/resources/updated', textOf({ uri }))
    }
  }
  again('initialize', introduction, { canAsk: false, send: () => undefined, end })
  uplink.receive({ kind: 'notification', method: 'notifications/initialized', params: undefined }, SILENT)
  for (const { method, params } of requests) again(method, params, SILENT)
}
