import type { Clock } from '../../../kernel/async/clock.js'
import { within } from '../../../kernel/async/deadline.js'
import type { Fault } from '../../../kernel/faults.js'
import { elementsOf, type JsonText, memberOf, some, stringOf } from '../../../kernel/json/text.js'
import type { Outcome } from '../../../model/outcome.js'
import { errorCode } from '../../../model/rpc-error.js'
import { type Conversation, outcomeOf } from '../../../rpc/channel/conversation.js'
import { mayBeOlder } from '../../shared/probe-verdict.js'
import { MODERN_CODES, MODERN_REVISION } from '../../shared/protocol.js'

/** The time for an answer to the probe. */
const ANSWER_MS = 10_000

/** The context for checking a server's revision. */
export interface RevisionCheckContext {
  readonly conversation: Conversation
  readonly clock: Clock
  /** Makes the params of `server/discover`. */
  discoverParams(): JsonText
  /** Ends the connection, so that the next one detects the new era. */
  end(): Promise<void>
}

/**
 * Checks whether a server still supports its revision: it may have been replaced at the same address, which
 * shows only in rejected requests. Rejections may have other reasons, so it is probed before all clients are
 * disconnected.
 */
export class RevisionCheck {
  readonly #context: RevisionCheckContext
  /** Resolves to whether the connection was ended. */
  #pending: Promise<boolean> | undefined

  constructor(context: RevisionCheckContext) {
    this.#context = context
  }

  /**
   * Returns whether an outcome is doubtful. If so, calls `then` with whether the server changed and the
   * connection was closed.
   */
  check(outcome: Outcome, then: (isEnd: boolean) => void): boolean {
    if (!isDoubtful(outcome)) return false
    this.#pending ??= this.#ask().finally(() => {
      this.#pending = undefined
    })
    void this.#pending.then(then)
    return true
  }

  async #ask(): Promise<boolean> {
    const { conversation, clock } = this.#context
    const id = conversation.nextId()
    const outcome = outcomeOf(conversation, id, 'server/discover', this.#context.discoverParams())
    const answer = await within(outcome, { clock, ms: ANSWER_MS })
    if (answer === undefined) conversation.forget(id)
    if (answer === undefined || !isNo(answer)) return false
    await this.#context.end()
    return true
  }
}

/** The server rejected the version, or could not understand the request. */
const isDoubtful = (outcome: Outcome): boolean => {
  if (outcome.kind === 'error') return errorCode(outcome.error) === MODERN_CODES.unsupportedVersion
  return outcome.kind === 'fault' && isRefused(outcome.fault)
}

const isNo = (answer: Outcome): boolean => {
  if (answer.kind === 'fault') return isRefused(answer.fault)
  if (answer.kind === 'error') return true
  const versions = memberOf(answer.result, 'supportedVersions')
  return versions === undefined || !some(elementsOf(versions), one => stringOf(one) === MODERN_REVISION)
}

const isRefused = ({ data }: Fault): boolean => {
  const status = data?.['httpStatus']
  return typeof status === 'number' && mayBeOlder(status)
}
