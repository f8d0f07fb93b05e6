import { type JsonText, ownText, rawText, textMember, textOf } from '../../../kernel/json/text.js'
import type { SessionRecord, StateRequest } from '../../../rpc/directory.js'
import type { Outlet, ReplyStream } from '../../../rpc/host.js'
import { encodeNotification, type Message } from '../../../wire/jsonrpc.js'
import { NO_REPLY } from './batch.js'
import { ServerSessions } from './server-sessions.js'
import type { LegacyUplink } from './uplink.js'

/** Longer `initialize` params are not kept: such a session dies with its replica. */
const INTRODUCTION_BYTES = 32 * 1024
/** Bounds the kept settings; the client has to repeat any further ones. */
const REQUESTS_MAX = 1000
const REQUEST_BYTES = 4096

const SUBSCRIBE = 'resources/subscribe'
const UNSUBSCRIBE = 'resources/unsubscribe'
const SET_LEVEL = 'logging/setLevel'
const SETS: ReadonlySet<string> = new Set([SUBSCRIBE, UNSUBSCRIBE, SET_LEVEL])
const NOTHING = rawText('{}')
const LISTS = ['tools', 'prompts', 'resources']

/** The client's initialization and later settings, as requests that can be replayed. */
export class SessionState {
  readonly #changed: () => void
  #introduction: JsonText | undefined
  #level: JsonText | undefined
  readonly #subscriptions = new Map<string, JsonText>()
  /** Its dedicated sessions at servers. */
  readonly servers: ServerSessions

  /** `changed` is called after each change. */
  constructor(changed: () => void) {
    this.#changed = changed
    this.servers = new ServerSessions(changed)
  }

  /** True if another replica could resume the session. */
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

  initialized(params: JsonText = NOTHING): void {
    if (params.length <= INTRODUCTION_BYTES) this.#introduction = ownText(params)
  }

  /** Records a request of the client, even if it fails: it would fail again. */
  recordRequest({ method, params }: Message & { kind: 'request' }): void {
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

/** A session taken over from another replica. */
interface Restored extends Outlet {
  readonly uplink: Pick<LegacyUplink, 'receive'>
  readonly state: SessionState | undefined
}

/**
 * Replays the state of a session taken over from another replica, and notifies its client of everything it
 * may have missed.
 */
export const replayState = (session: Restored, { introduction, requests, servers }: SessionRecord): void => {
  const { uplink, state } = session
  state?.servers.restore(servers)
  state?.initialized(introduction)
  const notify = (method: string, params?: JsonText): void =>
    session.notify(encodeNotification(method, params), method)
  const again = (method: string, params: JsonText, replies: ReplyStream): void => {
    const message = { kind: 'request', id: rawText(`"${session.nextRequestId()}"`), method, params } as const
    state?.recordRequest(message)
    uplink.receive(message, replies)
  }
  const end = (): void => {
    for (const list of LISTS) notify(`notifications/${list}/list_changed`)
    for (const { method, params } of requests) {
      const uri = method === SUBSCRIBE ? textMember(params, 'uri') : undefined
      if (uri !== undefined) notify('notifications/resources/updated', textOf({ uri }))
    }
  }
  again('initialize', introduction, { canAsk: false, send: () => undefined, end })
  uplink.receive({ kind: 'notification', method: 'notifications/initialized', params: undefined }, NO_REPLY)
  for (const { method, params } of requests) again(method, params, NO_REPLY)
}
