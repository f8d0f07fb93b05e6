import type { Clock } from '../../kernel/clock.js'
import { Fault } from '../../kernel/faults.js'
import {
  at,
  elementsOf,
  type JsonText,
  memberOf,
  objectText,
  rawText,
  stringOf,
  textOf,
} from '../../kernel/json-text.js'
import type { Outcome } from '../../model/outcome.js'
import type { ClientCapabilities, ServerFacts } from '../../model/peer.js'
import { isLegacyRevision, type LegacyRevision, NEWEST_LEGACY } from '../../model/revision.js'
import type { Conversation } from '../../rpc/conversation.js'
import { decodeServerCapabilities, textMember } from './decode.js'
import { encodeClientCapabilities } from './encode.js'

/** What we introduce ourselves with to a server. */
export interface Introduction {
  readonly capabilities: ClientCapabilities
  /** An `Implementation` object: ours, or the client's where the connection is that client's alone. */
  readonly clientInfo: JsonText
}

/** What came of the handshake. */
export interface Agreement {
  readonly revision: LegacyRevision
  readonly facts: ServerFacts
}

const EMPTY = rawText('{}')

/**
 * Introduces us to a legacy server (basic/lifecycle, "Initialization"): offers the newest revision with a handshake,
 * accepts any published one, and sends `notifications/initialized` before anything else. A server that refuses with a
 * list of revisions is asked once more with the newest of them that we know. Rejects with a Fault.
 */
export const shakeHands = async (
  talk: Conversation,
  intro: Introduction,
  limits: { readonly clock: Clock; readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Agreement> => {
  let outcome = await ask(talk, intro, NEWEST_LEGACY, limits)
  const other = outcome.kind === 'error' ? otherRevision(outcome.error) : undefined
  if (other !== undefined) outcome = await ask(talk, intro, other, limits)
  const agreement = readAgreement(outcome)
  talk.agreed(agreement.revision)
  await talk.notice('notifications/initialized', undefined)
  return agreement
}

const ask = (
  talk: Conversation,
  intro: Introduction,
  version: LegacyRevision,
  { clock, timeoutMs, signal }: { clock: Clock; timeoutMs: number; signal: AbortSignal },
): Promise<Outcome> =>
  new Promise((resolve, reject) => {
    const id = talk.nextId()
    const stop = (fault: Fault): void => {
      timer.cancel()
      signal.removeEventListener('abort', aborted)
      talk.forget(id)
      reject(fault)
    }
    const aborted = (): void => stop(new Fault('cancelled', 'The connection attempt was called off'))
    const timer = clock.after(timeoutMs, () =>
      stop(new Fault('timeout', `No answer to initialize within ${Math.round(timeoutMs / 1000)} s`)),
    )
    signal.addEventListener('abort', aborted, { once: true })
    talk.request(id, 'initialize', initializeParams(intro, version), {
      progress: () => undefined,
      ended: outcome => {
        timer.cancel()
        signal.removeEventListener('abort', aborted)
        resolve(outcome)
      },
    })
  })

const initializeParams = (intro: Introduction, version: LegacyRevision): JsonText =>
  objectText([
    ['protocolVersion', textOf(version)],
    ['capabilities', encodeClientCapabilities(intro.capabilities)],
    ['clientInfo', intro.clientInfo],
  ])

/** The newest revision of ours in the `data.supported` of a refusal (lifecycle, "Error Handling"). */
const otherRevision = (error: JsonText): LegacyRevision | undefined => {
  const supported = at(error, 'data', 'supported')
  if (supported === undefined) return undefined
  return elementsOf(supported)
    .map(version => stringOf(version))
    .filter((version): version is LegacyRevision => version !== undefined && isLegacyRevision(version))
    .filter(version => version !== NEWEST_LEGACY)
    .sort()
    .at(-1)
}

const readAgreement = (outcome: Outcome): Agreement => {
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
  return {
    revision: version,
    facts: {
      revision: version,
      capabilities: decodeServerCapabilities(memberOf(result, 'capabilities') ?? EMPTY),
      info: memberOf(result, 'serverInfo') ?? EMPTY,
      instructions: textMember(result, 'instructions'),
    },
  }
}
