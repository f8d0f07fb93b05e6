import type { Caller } from '../../../kernel/caller.js'
import type { Fault } from '../../../kernel/faults.js'
import type { HashTable } from '../../../kernel/hash-table.js'
import { type JsonText, rawText, textMember } from '../../../kernel/json/text.js'
import type { Call, Client, DownstreamCall } from '../../../model/links.js'
import { type Answer, answerOf, type Outcome } from '../../../model/outcome.js'
import { hasOwnTasks } from '../../../model/peer.js'
import type { Progress } from '../../../model/progress.js'
import { isLegacyRevision, type LegacyRevision } from '../../../model/revision.js'
import { refusedResult } from '../../../model/rpc-error.js'
import type { ReplyStream } from '../../../rpc/outlet.js'
import { encodeProgress, tokenAlone, tokenIn } from '../../../rpc/progress-token.js'
import {
  bareParams,
  encodeError,
  encodeNotification,
  frameResult,
  type Message,
  metaOf,
} from '../../../wire/jsonrpc.js'
import { InboundCall } from '../../shared/inbound-call.js'
import { withClientNames } from '../../shared/passed-notification.js'
import { encodeLegacyEnd, encodeLegacyFault, projectLegacyError } from '../errors.js'
import { knowsStructure, projectLegacyOnce, projectPassed } from '../project/messages.js'

/** The part of the session that an inbound call uses. */
interface Session extends Client {
  readonly revision: LegacyRevision
  /** The calls in flight by their ids. */
  readonly calls: HashTable<string, LegacyInboundCall>
}

/** One request of a legacy client. */
export class LegacyInboundCall extends InboundCall {
  readonly client: Client
  readonly caller: Caller
  readonly method: string
  readonly params: JsonText | undefined
  readonly named: string | undefined
  readonly wantsProgress: boolean
  /** Legacy sessions set their level once for all requests. */
  readonly logLevel = undefined
  readonly replies: ReplyStream
  readonly id: JsonText
  readonly #key: string | undefined
  /** In latin1. */
  readonly #token: string | undefined
  readonly #session: Session
  /** True once a server was found. */
  isRouted = false

  /** `key` identifies it in its session; undefined if it is not registered there. */
  constructor(
    request: Message & { kind: 'request' },
    key: string | undefined,
    replies: ReplyStream,
    session: Session,
  ) {
    super()
    const { id, method, named } = request
    const meta = metaOf(request)
    // The token does not cross this hop; a `_meta` without other members is dropped.
    const alone = meta && tokenAlone(meta)
    const token = meta && (alone ?? tokenIn(meta))
    const isBare = named !== undefined && (meta === undefined || alone !== undefined)
    this.client = session
    this.caller = session.caller
    this.method = method
    this.params = isBare && meta !== undefined ? bareParams(request) : request.params
    this.named = isBare ? named : undefined
    this.replies = replies
    this.id = id
    this.#key = key
    this.#token = token?.toString('latin1')
    this.#session = session
    this.wantsProgress = this.#token !== undefined
  }

  get arrival(): Call['arrival'] {
    return this.replies.arrival
  }

  get progressToken(): JsonText | undefined {
    return this.#token === undefined ? undefined : rawText(this.#token)
  }

  routed(): void {
    this.isRouted = true
  }

  progress(progress: Progress): void {
    if (this.isOver || this.#token === undefined) return
    this.replies.send(encodeProgress(progress, this.#token), true)
  }

  notify(method: string, params: JsonText | undefined): void {
    if (!this.isOver)
      this.replies.send(encodeNotification(method, params), method === 'notifications/message')
  }

  pass(method: string, params: JsonText | undefined, down: DownstreamCall['id']): void {
    this.notify(method, withClientNames(params, down, { id: this.id, token: this.progressToken }))
  }

  protected over(): void {
    if (this.#key !== undefined) this.#session.calls.take(this.#key)
  }

  protected answer(outcome: Outcome): void {
    if (outcome.kind === 'task' && hasOwnTasks(this.#session)) {
      this.replies.end(frameResult(this.id, projectPassed(outcome.result)))
      return
    }
    const answer = outcome.kind === 'result' ? outcome : answerOf(outcome)
    switch (answer.kind) {
      case 'result':
        this.replies.end(frameResult(this.id, this.#known(answer)))
        return
      case 'error':
        this.replies.end(encodeError(this.id, this.#projected(answer)))
        return
      case 'fault': {
        const refused = refusedResult(answer, this.method)
        const frame =
          refused === undefined
            ? encodeError(this.id, encodeLegacyEnd(answer))
            : frameResult(this.id, refused)
        this.replies.end(frame, { why: answer.fault })
      }
    }
  }

  protected dismiss(): void {
    this.replies.end(undefined)
  }

  protected answerAbandoned(why: Fault): void {
    this.replies.end(encodeError(this.id, encodeLegacyFault(why)))
  }

  /** Returns the parts of a result that the client's revision knows. */
  #known({ result, isPlain, isStructured, passedFrom }: Answer & { kind: 'result' }): JsonText {
    const { revision } = this.#session
    if (passedFrom !== undefined) return isLegacyRevision(passedFrom) ? result : projectPassed(result)
    const isKnown = isPlain === true && (isStructured !== true || knowsStructure(revision))
    return isKnown ? result : projectLegacyOnce(revision, this.method, result)
  }

  /** Passes on codes of legacy servers; codes of modern ones have another meaning here, or none. */
  #projected({ error, revision, server }: Answer & { kind: 'error' }): JsonText {
    if (revision === undefined || isLegacyRevision(revision)) return error
    const { method, params } = this
    const isRead = method === 'resources/read' && params !== undefined
    return projectLegacyError(error, { server, uri: isRead ? textMember(params, 'uri') : undefined })
  }
}
