import type { Clock } from '../../src/kernel/async/clock.js'
import { type JsonText, textOf, valueOf } from '../../src/kernel/json/text.js'
import { LimitCounters } from '../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../../src/kernel/limits.js'
import type { ServerRequestMode } from '../../src/model/links.js'
import type { Outcome } from '../../src/model/outcome.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../src/model/peer.js'
import { Progress } from '../../src/model/progress.js'
import type { Revision } from '../../src/model/revision.js'
import { RPC_CODES } from '../../src/model/rpc-error.js'

export const ALL_ABILITIES: ClientCapabilities = {
  roots: { listChanged: true },
  sampling: { tools: true, context: true },
  elicitation: { form: true, url: true },
}

/** Returns the capabilities that a client of `revision` can declare. */
export const abilitiesAt = (revision: Revision): ClientCapabilities =>
  revision >= '2025-11-25'
    ? ALL_ABILITIES
    : {
        roots: { listChanged: true },
        sampling: { tools: false, context: true },
        elicitation: revision >= '2025-06-18' ? { form: true, url: false } : undefined,
      }

export const parsed = (text: JsonText | undefined): unknown =>
  text === undefined ? undefined : valueOf(text)

/** Returns an outcome for comparisons: `{ result }` or `{ code, message, data }` as a peer would read it. */
export const plain = (outcome: Outcome | undefined): unknown => {
  if (outcome === undefined) return undefined
  if (outcome.kind === 'result' || outcome.kind === 'input' || outcome.kind === 'task')
    return { result: valueOf(outcome.result) }
  if (outcome.kind === 'error') return valueOf(outcome.error)
  const { fault } = outcome
  return { code: RPC_CODES[fault.code], message: fault.message, data: fault.data }
}

export const askingOf = (revision: Revision): ServerRequestMode =>
  revision === '2026-07-28' ? 'returned' : 'pushed'

export const CAN_NOTHING = NO_CAPABILITIES
export const tool = (name: string, more: object = {}): object => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
})
export const resource = (uri: string): object => ({ uri, name: uri })

/** Returns progress with these params. */
export const progressOf = (params: object): Progress => new Progress(textOf(params))

/** Returns limits with these overrides. */
export const boundsOf = (limits: Partial<Limits> = {}, clock?: Clock): LimitCounters =>
  new LimitCounters({ limits: { ...DEFAULT_LIMITS, ...limits }, ...(clock && { clock }) })

/** Returns an outcome for comparisons: the text, or the code of the fault. */
export const shown = (outcome: Outcome | undefined): string => {
  if (outcome === undefined) return 'none'
  if (outcome.kind === 'fault') return `${outcome.fault.code}: ${outcome.fault.message}`
  return `${outcome.kind} ${(outcome.kind === 'error' ? outcome.error : outcome.result).toString()}`
}

export const IDENTITY = { name: 'proxy', version: '1', title: 'The proxy' }

const ID = '[a-z0-9]{4}-[a-z0-9]+'
const MESSAGE = new RegExp(` \\(${ID}\\)"`, 'g')
const ALONE = new RegExp(`,"data":\\{"errorId":"${ID}"\\}`, 'g')
const MEMBER = new RegExp(`,"errorId":"${ID}"|"errorId":"${ID}",?`, 'g')

/** Removes the unique ids of our errors from JSON text. */
export const withoutErrorIds = (text: string): string =>
  text.replace(MESSAGE, '"').replace(ALONE, '').replace(MEMBER, '')

/** Removes these ids from a value. */
export const unmarked = (value: unknown): unknown => JSON.parse(withoutErrorIds(JSON.stringify(value)))
