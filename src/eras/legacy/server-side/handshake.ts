import type { Clock } from '../../../kernel/async/clock.js'
import { Deferred } from '../../../kernel/async/deferred.js'
import { Fault } from '../../../kernel/faults.js'
import {
  at,
  elementsOf,
  type JsonText,
  objectText,
  stringOf,
  textMember,
  textOf,
} from '../../../kernel/json/text.js'
import { type Answer, answerOf } from '../../../model/outcome.js'
import type { ClientCapabilities, ServerFacts } from '../../../model/peer.js'
import { isLegacyRevision, type LegacyRevision } from '../../../model/revision.js'
import { announcedIn } from '../../../rpc/capabilities.js'
import type { Conversation } from '../../../rpc/channel/conversation.js'

/** What we send to a server in `initialize`. */
export interface ClientIntroduction {
  readonly capabilities: ClientCapabilities
  /** An `Implementation` object: ours, or the client's where the connection is that client's alone. */
  readonly clientInfo: JsonText
  /** The revision that is offered; the server may counter with any other. */
  readonly offer: LegacyRevision
}

/** What the handshake agreed on. */
export interface Agreement {
  readonly revision: LegacyRevision
  readonly facts: ServerFacts
}

/** Which answers to `initialize` say that the server wants to be spoken to in another way. */
export type IsOtherEra = (answer: Answer) => boolean

/** The limits of the handshake; `timeoutMs` is for each of its steps. */
interface Limits {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Initializes a session (basic/lifecycle, "Initialization"): accepts any legacy revision, and sends
 * `notifications/initialized` before anything else. A server that rejects ours with a list is asked once more
 * with the newest known one. Resolves to undefined if the answer is `elsewhere`. Rejects with a Fault.
 */
export const initialize = async (
  conversation: Conversation,
  intro: ClientIntroduction,
  limits: Limits,
  elsewhere: IsOtherEra,
): Promise<Agreement | undefined> => {
  let answer = await sendInitialize(conversation, intro, intro.offer, limits)
  const other = elsewhere(answer) ? undefined : otherRevision(answer, intro.offer)
  if (other !== undefined) answer = await sendInitialize(conversation, intro, other, limits)
  if (elsewhere(answer)) return undefined
  const agreement = readAgreement(answer)
  conversation.agreed(agreement.revision)
  await bounded(limits, () => conversation.notice('notifications/initialized', undefined))
  return agreement
}

const sendInitialize = async (
  conversation: Conversation,
  intro: ClientIntroduction,
  version: LegacyRevision,
  limits: Limits,
): Promise<Answer> => {
  const id = conversation.nextId()
  try {
    return await bounded(
      limits,
      () =>
        new Promise<Answer>(resolve =>
          conversation.request(id, 'initialize', initializeParams(intro, version), {
            progress: () => undefined,
            ended: outcome => resolve(answerOf(outcome)),
          }),
        ),
    )
  } finally {
    // No `notifications/cancelled`: a client must not cancel `initialize` (utilities/cancellation).
    conversation.forget(id)
  }
}

/** One step of the handshake; rejects with a Fault when it takes too long or is called off. */
const bounded = async <T>({ clock, timeoutMs, signal }: Limits, step: () => Promise<T>): Promise<T> => {
  const stopped = new Deferred<never>()
  const aborted = (): void => stopped.reject(new Fault('cancelled', 'The connection attempt was called off'))
  signal.addEventListener('abort', aborted, { once: true })
  const limit = clock.after(timeoutMs, () =>
    stopped.reject(new Fault('timeout', `No answer to initialize within ${Math.round(timeoutMs / 1000)} s`)),
  )
  try {
    // A signal that was aborted before tells nobody any more.
    if (signal.aborted) aborted()
    return await (signal.aborted ? stopped.promise : Promise.race([step(), stopped.promise]))
  } finally {
    limit.cancel()
    signal.removeEventListener('abort', aborted)
  }
}

const initializeParams = (intro: ClientIntroduction, version: LegacyRevision): JsonText =>
  objectText([
    ['protocolVersion', textOf(version)],
    ['capabilities', encodeClientCapabilities(intro.capabilities)],
    ['clientInfo', intro.clientInfo],
  ])

/** `ClientCapabilities` for a legacy server: what the clients behind the connection support. */
const encodeClientCapabilities = (capabilities: ClientCapabilities): JsonText => {
  const { roots, sampling, elicitation } = capabilities
  return textOf({
    ...(roots && { roots: roots.listChanged ? { listChanged: true } : {} }),
    ...(sampling && {
      sampling: { ...(sampling.context && { context: {} }), ...(sampling.tools && { tools: {} }) },
    }),
    ...(elicitation && {
      elicitation: { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) },
    }),
  })
}

/** The newest revision of ours in the `data.supported` of a refusal (lifecycle, "Error Handling"). */
const otherRevision = (answer: Answer, offered: LegacyRevision): LegacyRevision | undefined => {
  const supported = answer.kind === 'error' ? at(answer.error, 'data', 'supported') : undefined
  if (supported === undefined) return undefined
  let newest: LegacyRevision | undefined
  for (const element of elementsOf(supported)) {
    const version = stringOf(element)
    if (version === undefined || !isLegacyRevision(version) || version === offered) continue
    if (newest === undefined || version > newest) newest = version
  }
  return newest
}

const readAgreement = (outcome: Answer): Agreement => {
  if (outcome.kind === 'fault') throw outcome.fault
  if (outcome.kind === 'error') {
    const words = textMember(outcome.error, 'message') ?? 'no reason given'
    throw new Fault('unavailable', `The server refused to initialize: ${words}`)
  }
  const { result } = outcome
  const version = textMember(result, 'protocolVersion')
  if (version === undefined) throw new Fault('unavailable', 'The server named no protocol version')
  if (!isLegacyRevision(version)) {
    throw new Fault('unavailable', `The server speaks protocol version ${version}, which is not supported`)
  }
  const { capabilities, ...said } = announcedIn(result)
  // 2024-11-05 has the method but no capability for it.
  const completions = capabilities.completions || (version === '2024-11-05' && 'undeclared')
  return {
    revision: version,
    facts: { revision: version, ...said, capabilities: { ...capabilities, completions } },
  }
}
