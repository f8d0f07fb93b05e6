import type { Principal } from '../../kernel/caller.js'
import { EMPTY, type JsonText, ownText, textMember } from '../../kernel/json/text.js'
import type { Message } from '../../wire/jsonrpc.js'
import { ServerSessions } from './server-sessions.js'

/** Longer `initialize` params are not kept: such a session dies with its replica. */
const INTRODUCTION_BYTES = 32 * 1024
/** Bounds the kept settings; the client has to repeat any further ones. */
const REQUESTS_MAX = 1000
const REQUEST_BYTES = 4096

export const SUBSCRIBE = 'resources/subscribe'
const UNSUBSCRIBE = 'resources/unsubscribe'
const SET_LEVEL = 'logging/setLevel'
const SETS: ReadonlySet<string> = new Set([SUBSCRIBE, UNSUBSCRIBE, SET_LEVEL])

/** A request that changed the state of a session, such as a subscription. */
interface StateRequest {
  readonly method: string
  readonly params: JsonText
}

/** The data for another replica to resume a session: the client's initialization and later settings. */
export interface SessionRecord {
  readonly principal: Principal
  readonly view: string | undefined
  /** The params of `initialize`. */
  readonly introduction: JsonText
  readonly requests: readonly StateRequest[]
  /** Its dedicated sessions at servers, by server name. */
  readonly servers: readonly (readonly [server: string, session: JsonText])[]
}

/** Collects the client's initialization and later settings, as requests that can be replayed. */
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
    return { introduction: this.#introduction ?? EMPTY, requests, servers: this.servers.all }
  }

  initialized(params: JsonText = EMPTY): void {
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
